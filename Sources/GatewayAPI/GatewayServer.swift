package import Delivery
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
package import Logging
import NIOCore
package import PushModel
import ServiceLifecycle
package import Store

/// What the HTTP API stands on.
package struct GatewayServices: Sendable {
    /// Everything that is kept.
    package var store: any APIStore
    /// Takes messages in.
    package var acceptor: MessageAcceptor
    /// Pauses, resumes and cancels messages.
    package var controller: MessageController
    /// The projects as configured.
    package var projects: ProjectDirectory
    /// The upstreams' state, for `/readyz`.
    package var upstreams: @Sendable () -> [UpstreamStatus]
    /// How the store is, for `/readyz`.
    package var storeState: @Sendable () async -> StoreState
    /// Why deliveries of a project ended within the last hour that were not accepted.
    package var recentReasons: @Sendable (ProjectID) -> [ReasonCount]
    /// The listener's certificate and those of a project's apps.
    package var certificates: @Sendable (ProjectID) -> [CertificateStatus]
    /// The metrics in Prometheus' text format.
    package var metricsText: @Sendable () -> String
    /// How often clients may ask.
    package var clientLimits: ClientRateLimits
    /// Under which URL clients reach the gateway, without a slash at the end.
    package var publicURL: @Sendable () -> String
    /// When API keys were used.
    package var keyUses: KeyUses
    /// Wall time.
    package var wallTime: WallTime
    /// Logs requests.
    package var logger: Logger

    /// Puts the services together.
    package init(
        store: any APIStore,
        acceptor: MessageAcceptor, controller: MessageController, projects: ProjectDirectory,
        upstreams: @escaping @Sendable () -> [UpstreamStatus],
        storeState: @escaping @Sendable () async -> StoreState,
        recentReasons: @escaping @Sendable (ProjectID) -> [ReasonCount] = { _ in [] },
        certificates: @escaping @Sendable (ProjectID) -> [CertificateStatus] = { _ in [] },
        metricsText: @escaping @Sendable () -> String,
        clientLimits: ClientRateLimits = ClientRateLimits(.none), publicURL: @escaping @Sendable () -> String,
        keyUses: KeyUses = KeyUses(),
        wallTime: @escaping WallTime, logger: Logger
    ) {
        self.clientLimits = clientLimits
        self.keyUses = keyUses
        self.publicURL = publicURL
        self.store = store
        self.acceptor = acceptor
        self.controller = controller
        self.projects = projects
        self.upstreams = upstreams
        self.storeState = storeState
        self.recentReasons = recentReasons
        self.certificates = certificates
        self.metricsText = metricsText
        self.wallTime = wallTime
        self.logger = logger
    }
}

/// A certificate that the gateway uses.
package struct CertificateStatus: Hashable, Sendable {
    /// What it is for: `listener`, or the bundle id of the app that pushes with it.
    package var subject: String
    /// The file, with the line of the project file that names it where there is one.
    package var file: String
    /// Until when it is valid.
    package var validUntil: Timestamp

    /// Describes a certificate.
    package init(subject: String, file: String, validUntil: Timestamp) {
        self.subject = subject
        self.file = file
        self.validUntil = validUntil
    }
}

/// The largest bodies in bytes. Most routes need less than the limit, and take no more than they need.
package struct BodyLimits: Hashable, Sendable {
    /// Of a request.
    package var standard: Int
    /// Of a batch of messages (`messages:batchSend`).
    package var batch: Int

    /// Puts limits together.
    package init(standard: Int = 4 << 20, batch: Int = 32 << 20) {
        self.standard = standard
        self.batch = batch
    }
}

/// Where the gateway listens.
package struct ListenerConfiguration: Sendable {
    /// Host name or address.
    package var host: String
    /// TCP port, 0 for any free one.
    package var port: Int
    /// PEM chain and PEM key files: with them the listener speaks TLS, HTTP/2 and HTTP/1.1 by ALPN.
    package var tls: (certificateFile: String, keyFile: String)?
    /// The largest request bodies.
    package var bodyLimits: BodyLimits
    /// What is answered here.
    package var routes: Routes = .api(withOperations: true)
    /// How many connections there may be.
    package var connectionLimits = ConnectionLimits()
    /// How long requests may go on after the start of a graceful shutdown; then their connections are closed.
    package var shutdownLimit: Duration
    /// How long a connection may take to its first byte, and then it is closed; how long a request may take from its first
    /// byte to its last, and then it is answered 408.
    package var requestLimit: Duration
    /// How long an answer waits for a peer that does not read; then the connection is closed.
    package var answerLimit: Duration

    /// What a listener answers.
    package enum Routes: Hashable, Sendable {
        /// The API, `/healthz`, and whether the gateway is ready; with `withOperations` also why not, and `/metrics`:
        /// there is no listener for these.
        case api(withOperations: Bool)
        /// `/healthz`, `/readyz` with everything that it knows, and `/metrics`.
        case operations

        /// The listener's name in metrics and logs.
        var name: String { self == .operations ? "operations" : "api" }
    }

    /// Describes a listener.
    package init(
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
package struct GatewayServer: Service {
    // Idle connections stay for long: backends keep theirs open between bursts.
    private static let idleTimeout = Duration.seconds(600)

    private let application: Application<RouterResponder<GatewayRequestContext>>
    /// The listener's certificate; `nil`: it speaks no TLS.
    package let certificate: ListenerCertificate?

    private let connections: OpenConnections
    private let shutdownLimit: Duration
    private let logger: Logger

    /// Prepares a server.
    ///
    /// - Parameter onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when certificate or key can't be used.
    package init(
        listener: ListenerConfiguration, services: GatewayServices,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        shutdownLimit = listener.shutdownLimit
        let logger = services.logger
        let connections = OpenConnections(listener.connectionLimits, of: listener.routes.name)
        certificate = try listener.tls.map {
            try ListenerCertificate(certificateFile: $0.certificateFile, keyFile: $0.keyFile)
        }
        application = Application(
            responder: GatewayRouter(services: services, limits: listener.bodyLimits, routes: listener.routes)
                .responder(),
            server: Self.server(listener, certificate, connections),
            configuration: Self.configuration(listener),
            onServerRunning: { channel in
                connections.watch(channel, logger: logger)
                onListening(channel.localAddress?.port ?? listener.port)
            }, logger: logger)
        self.connections = connections
        self.logger = logger
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    package func run() async throws {
        try await connections.serve(drainingWithin: shutdownLimit, logger: logger) { try await application.run() }
    }

    static func configuration(_ listener: ListenerConfiguration) -> ApplicationConfiguration {
        ApplicationConfiguration(
            address: .hostname(listener.host, port: listener.port), serverName: "Herald",
            availableConnectionsDelegate: AcceptCeiling(total: listener.connectionLimits.total))
    }

    static func server(
        _ listener: ListenerConfiguration, _ certificate: ListenerCertificate?, _ connections: OpenConnections
    ) -> HTTPServerBuilder {
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
        guard let certificate else {
            return HTTPServerBuilder { responder in
                PlainChannel(
                    HTTP1Channel(responder: connections.noting(responder), configuration: http1),
                    connections: connections, firstByteLimit: listener.requestLimit)
            }
        }
        let http2 = HTTP2ChannelConfiguration(
            idleTimeout: idleTimeout, gracefulCloseTimeout: listener.shutdownLimit,
            streamConfiguration: configuration {
                [StallGuard(limits: limits, isOfStream: true), RestDropper(), ContinueHandler(), QuiesceStop()]
            })
        return HTTPServerBuilder { responder in
            SecureChannel(
                certificate: certificate, http1: http1, http2: http2,
                limits: SecureChannel.Limits(firstByte: listener.requestLimit, farewell: listener.shutdownLimit),
                connections: connections, responder: connections.noting(responder))
        }
    }
}
