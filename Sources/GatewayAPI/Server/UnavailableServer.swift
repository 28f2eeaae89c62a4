import HTTPTypes
import Hummingbird
package import Logging
import PushModel
import ServiceLifecycle

/// The listener of a gateway that has no store yet: it answers 503 to everything and says why.
///
/// A gateway that ended because its disk is full or damaged would be started again and again by its supervisor, and
/// callers would be refused without a word. Runs until graceful shutdown.
package struct UnavailableServer: Service {
    /// How long connections may go on after the start of a graceful shutdown: no answer here waits for anything, and
    /// whoever sends slowly must not keep the gateway from serving.
    private static let shutdownLimit = Duration.seconds(5)

    private let application: Application<CallbackResponder<BasicRequestContext>>
    private let connections: OpenConnections
    private let logger: Logger

    /// Prepares a server.
    ///
    /// - Parameters:
    ///   - problem: what is wrong now, a sentence.
    ///   - onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when certificate or key can't be used.
    package init(
        listener: ListenerConfiguration, problem: @escaping @Sendable () -> String, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        self.logger = logger
        let connections = OpenConnections(listener.connectionLimits, of: listener.routes.name)
        self.connections = connections
        let certificate = try listener.tls.map {
            try ListenerCertificate(certificateFile: $0.certificateFile, keyFile: $0.keyFile)
        }
        let routes = listener.routes
        application = Application(
            responder: CallbackResponder { request, _ in
                var response = Self.answer(to: request.uri.path, problem(), on: routes)
                response.headers[.requestID] = RequestID(request.headers).text
                return request.method == .head ? response.createHeadResponse() : response
            },
            server: GatewayServer.server(listener, certificate, connections),
            configuration: GatewayServer.configuration(listener),
            onServerRunning: { channel in
                connections.watch(channel, logger: logger)
                onListening(channel.localAddress?.port ?? listener.port)
            }, logger: logger)
    }

    /// Serves until graceful shutdown, and answers what it has accepted.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    package func run() async throws {
        try await connections.serve(drainingWithin: Self.shutdownLimit, logger: logger) { try await application.run() }
    }

    /// The answer to a request for `path`.
    static func answer(
        to path: String, _ problem: String, on routes: ListenerConfiguration.Routes = .api(withOperations: true)
    ) -> Response {
        switch path {
        case "/healthz": Response(json: OperationsRoutes.alive)
        case "/readyz": Readiness(problems: [problem], isWritable: false).response(on: routes)
        default: FCMError(.unavailable).response(for: path)
        }
    }
}
