public import Delivery
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
public import Logging
import NIOCore
public import PushModel
public import ServiceLifecycle
public import Store

/// What the HTTP API stands on.
public struct GatewayServices: Sendable {
    /// Everything that is kept.
    public var store: any APIStore
    /// Takes messages in.
    public var acceptor: MessageAcceptor
    /// Pauses, resumes and cancels messages.
    public var controller: MessageController
    /// The projects as configured.
    public var projects: ProjectDirectory
    /// The upstreams' state, for `/readyz`.
    public var upstreams: @Sendable () -> [UpstreamStatus]
    /// How the store is, for `/readyz`.
    public var storeState: @Sendable () async -> StoreState
    /// The metrics in Prometheus' text format.
    public var metricsText: @Sendable () -> String
    /// How often clients may ask.
    public var clientLimits: ClientRateLimits
    /// Wall time.
    public var wallTime: WallTime
    /// Logs requests.
    public var logger: Logger

    /// Puts the services together.
    public init(
        store: any APIStore,
        acceptor: MessageAcceptor, controller: MessageController, projects: ProjectDirectory,
        upstreams: @escaping @Sendable () -> [UpstreamStatus],
        storeState: @escaping @Sendable () async -> StoreState, metricsText: @escaping @Sendable () -> String,
        clientLimits: ClientRateLimits = ClientRateLimits(.none), wallTime: @escaping WallTime, logger: Logger
    ) {
        self.clientLimits = clientLimits
        self.store = store
        self.acceptor = acceptor
        self.controller = controller
        self.projects = projects
        self.upstreams = upstreams
        self.storeState = storeState
        self.metricsText = metricsText
        self.wallTime = wallTime
        self.logger = logger
    }
}

/// The largest bodies in bytes. Most routes need less than the limit, and take no more than they need.
public struct BodyLimits: Hashable, Sendable {
    /// Of a request.
    public var standard: Int
    /// Of a batch of messages (`messages:batchSend`).
    public var batch: Int

    /// Puts limits together.
    public init(standard: Int = 4 << 20, batch: Int = 32 << 20) {
        self.standard = standard
        self.batch = batch
    }
}

/// Where the gateway listens.
public struct ListenerConfiguration: Sendable {
    /// Host name or address.
    public var host: String
    /// TCP port, 0 for any free one.
    public var port: Int
    /// PEM chain and PEM key files: with them the listener speaks TLS, HTTP/2 and HTTP/1.1 by ALPN.
    public var tls: (certificateFile: String, keyFile: String)?
    /// The largest request bodies.
    public var bodyLimits: BodyLimits
    /// How long requests may go on after the start of a graceful shutdown; then their connections are closed.
    public var shutdownLimit: Duration
    /// How long a request may take from its first byte to its last; then it is answered 408.
    public var requestLimit: Duration
    /// How long an answer waits for a peer that does not read; then the connection is closed.
    public var answerLimit: Duration

    /// Describes a listener.
    public init(
        host: String, port: Int, tls: (certificateFile: String, keyFile: String)?, bodyLimits: BodyLimits,
        shutdownLimit: Duration = .seconds(20), requestLimit: Duration = .seconds(30),
        answerLimit: Duration = .seconds(120)
    ) {
        self.shutdownLimit = shutdownLimit
        self.requestLimit = requestLimit
        self.answerLimit = answerLimit
        self.host = host
        self.port = port
        self.tls = tls
        self.bodyLimits = bodyLimits
    }
}

/// The HTTP listener. Runs until graceful shutdown: it then stops accepting and finishes running requests, for as
/// long as the configuration allows.
public struct GatewayServer: Service {
    // Idle connections stay for long: backends keep theirs open between bursts.
    private static let idleTimeout = Duration.seconds(600)

    private let application: Application<RouterResponder<GatewayRequestContext>>
    private let connections = OpenConnections()
    private let shutdownLimit: Duration
    private let logger: Logger

    /// Prepares a server.
    ///
    /// - Parameter onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when certificate or key can't be used.
    public init(
        listener: ListenerConfiguration, services: GatewayServices,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        shutdownLimit = listener.shutdownLimit
        logger = services.logger
        application = Application(
            responder: GatewayRouter(services: services, limits: listener.bodyLimits).responder(),
            server: try Self.server(listener, connections),
            configuration: ApplicationConfiguration(
                address: .hostname(listener.host, port: listener.port), serverName: "Herald"),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? listener.port) },
            logger: services.logger)
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    public func run() async throws {
        try await connections.serve(drainingWithin: shutdownLimit, logger: logger) { try await application.run() }
    }

    static func server(
        _ listener: ListenerConfiguration, _ connections: OpenConnections
    ) throws -> HTTPServerBuilder {
        let limits = StallLimits(request: listener.requestLimit, answer: listener.answerLimit)
        func configuration(_ handlers: @escaping @Sendable () -> [any RemovableChannelHandler])
            -> HTTP1Channel.Configuration
        {
            var configuration = HTTP1Channel.Configuration(
                idleTimeout: TimeAmount(idleTimeout),
                httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                    maxHeaderFieldSize: HeaderLimit.decodedBytes, maxHeaderListSize: HeaderLimit.decodedBytes,
                    maxHeaderFieldCount: HeaderLimit.fieldCount))
            configuration.additionalChannelHandlers = handlers
            return configuration
        }
        let http1 = configuration {
            [ParseErrorAnswers(), StallGuard(limits: limits), RestDropper(), ContinueHandler()]
        }
        guard let files = listener.tls else {
            return HTTPServerBuilder { responder in
                PlainChannel(HTTP1Channel(responder: responder, configuration: http1), connections: connections)
            }
        }
        let tls = try TLSListener.configuration(certificateFile: files.certificateFile, keyFile: files.keyFile)
        let http2 = HTTP2ChannelConfiguration(
            idleTimeout: idleTimeout, gracefulCloseTimeout: listener.shutdownLimit,
            streamConfiguration: configuration {
                [StallGuard(limits: limits, isOfStream: true), RestDropper(), ContinueHandler(), QuiesceStop()]
            })
        return HTTPServerBuilder { responder in
            try SecureChannel(
                tls: tls, http1: http1, http2: http2,
                limits: SecureChannel.Limits(handshake: listener.requestLimit, farewell: listener.shutdownLimit),
                connections: connections, responder: responder)
        }
    }
}
