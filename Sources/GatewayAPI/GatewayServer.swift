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
    /// Registrations, subscriptions, reports, keys.
    public var store: any RegistrationStore & SubscriptionStore & MessageStore & LedgerStore & CredentialStore
    /// Takes messages in.
    public var acceptor: MessageAcceptor
    /// The projects as configured.
    public var projects: ProjectDirectory
    /// The upstreams' state, for `/readyz`.
    public var upstreams: @Sendable () -> [UpstreamStatus]
    /// Whether the store takes writes, for `/readyz`.
    public var isStoreWritable: @Sendable () async -> Bool
    /// The metrics in Prometheus' text format.
    public var metricsText: @Sendable () -> String
    /// Wall time.
    public var wallTime: WallTime
    /// Logs requests.
    public var logger: Logger

    /// Puts the services together.
    public init(
        store: any RegistrationStore & SubscriptionStore & MessageStore & LedgerStore & CredentialStore,
        acceptor: MessageAcceptor, projects: ProjectDirectory,
        upstreams: @escaping @Sendable () -> [UpstreamStatus],
        isStoreWritable: @escaping @Sendable () async -> Bool, metricsText: @escaping @Sendable () -> String,
        wallTime: @escaping WallTime, logger: Logger
    ) {
        self.store = store
        self.acceptor = acceptor
        self.projects = projects
        self.upstreams = upstreams
        self.isStoreWritable = isStoreWritable
        self.metricsText = metricsText
        self.wallTime = wallTime
        self.logger = logger
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
    /// The largest request body in bytes.
    public var bodyLimitBytes: Int

    /// Describes a listener.
    public init(host: String, port: Int, tls: (certificateFile: String, keyFile: String)?, bodyLimitBytes: Int) {
        self.host = host
        self.port = port
        self.tls = tls
        self.bodyLimitBytes = bodyLimitBytes
    }
}

/// The HTTP listener. Runs until graceful shutdown: it then stops accepting and finishes running requests.
public struct GatewayServer: Service {
    // Idle connections stay for long: backends keep theirs open between bursts.
    private static let idleTimeout = Duration.seconds(600)
    // A peer that never finishes must not hold up the end.
    private static let closeTimeout = Duration.seconds(30)

    private let application: Application<RouterResponder<GatewayRequestContext>>

    /// Prepares a server.
    ///
    /// - Parameter onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when certificate or key can't be used.
    public init(
        listener: ListenerConfiguration, services: GatewayServices,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        application = Application(
            responder: GatewayRouter(services: services, bodyLimitBytes: listener.bodyLimitBytes).responder(),
            server: try Self.server(listener),
            configuration: ApplicationConfiguration(
                address: .hostname(listener.host, port: listener.port), serverName: "Herald"),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? listener.port) },
            logger: services.logger)
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    public func run() async throws {
        try await application.run()
    }

    private static func server(_ listener: ListenerConfiguration) throws -> HTTPServerBuilder {
        let stream = HTTP1Channel.Configuration(
            additionalChannelHandlers: [ContinueHandler()], idleTimeout: TimeAmount(idleTimeout))
        guard let files = listener.tls else { return .http1(configuration: stream) }
        let tls = try TLSListener.configuration(certificateFile: files.certificateFile, keyFile: files.keyFile)
        let configuration = HTTP2ChannelConfiguration(
            idleTimeout: idleTimeout, gracefulCloseTimeout: closeTimeout, streamConfiguration: stream)
        return HTTPServerBuilder { responder in
            FlushingUpgradeChannel(
                try HTTP2UpgradeChannel(tlsConfiguration: tls, configuration: configuration, responder: responder))
        }
    }
}
