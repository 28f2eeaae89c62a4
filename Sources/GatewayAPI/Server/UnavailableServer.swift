import HTTPTypes
import Hummingbird
public import Logging
import PushModel
public import ServiceLifecycle

/// The listener of a gateway that has no store yet: it answers 503 to everything and says why.
///
/// A gateway that ended because its disk is full or damaged would be started again and again by its supervisor, and
/// callers would be refused without a word. Runs until graceful shutdown.
public struct UnavailableServer: Service {
    /// How long connections may go on after the start of a graceful shutdown: no answer here waits for anything, and
    /// whoever sends slowly must not keep the gateway from serving.
    private static let shutdownLimit = Duration.seconds(5)

    private let application: Application<CallbackResponder<BasicRequestContext>>
    private let connections = OpenConnections()
    private let logger: Logger

    /// Prepares a server.
    ///
    /// - Parameters:
    ///   - problem: what is wrong now, a sentence.
    ///   - onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when certificate or key can't be used.
    public init(
        listener: ListenerConfiguration, problem: @escaping @Sendable () -> String, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        self.logger = logger
        application = Application(
            responder: CallbackResponder { request, _ in
                var response = Self.answer(to: request.uri.path, problem())
                response.headers[.requestID] = RequestID(request.headers).text
                return request.method == .head ? response.createHeadResponse() : response
            },
            server: try GatewayServer.server(listener, connections),
            configuration: ApplicationConfiguration(
                address: .hostname(listener.host, port: listener.port), serverName: "Herald"),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? listener.port) }, logger: logger)
    }

    /// Serves until graceful shutdown, and answers what it has accepted.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    public func run() async throws {
        try await connections.serve(drainingWithin: Self.shutdownLimit, logger: logger) { try await application.run() }
    }

    /// The answer to a request for `path`.
    static func answer(to path: String, _ problem: String) -> Response {
        switch path {
        case "/healthz": Response(json: OperationsRoutes.alive)
        case "/readyz": OperationsRoutes.readiness(problems: [problem], isWritable: false, upstreams: [])
        default: FCMError(.unavailable).response(for: path)
        }
    }
}
