import HTTPListener
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
    /// a slow sender must not keep the gateway from serving.
    private static let shutdownLimit = Duration.seconds(5)

    private let listener: Listener<CallbackResponder<BasicRequestContext>>

    /// Prepares a server.
    ///
    /// - Parameters:
    ///   - problem: what is wrong now, a sentence.
    ///   - onListening: called with the bound port once the socket listens.
    /// - Throws: an error whose description names the file when certificate or key can't be used.
    package init(
        listener: GatewayListener, problem: @escaping @Sendable () -> String, logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws {
        let routes = listener.routes
        var http = listener.http
        http.shutdownLimit = Self.shutdownLimit
        let responder = CallbackResponder<BasicRequestContext> { request, _ in
            var response = Self.answer(to: request.uri.path, problem(), on: routes)
            response.headers[fields: .requestID] = [RequestID(request.headers).field]
            return request.method == .head ? response.createHeadResponse() : response
        }
        self.listener = try Listener(
            http, name: routes.name, responder: { _ in responder }, faultAnswer: FaultAnswer.init, logger: logger,
            onListening: onListening)
    }

    /// Serves until graceful shutdown, and answers what it has accepted.
    ///
    /// - Throws: an `IOError` with `EADDRINUSE` when the port is in use.
    package func run() async throws { try await listener.run() }

    /// The answer to a request for `path`.
    static func answer(
        to path: String, _ problem: String, on routes: GatewayListener.Routes = .api(withOperations: true)
    ) -> Response {
        switch path {
        case "/healthz": Response(json: OperationsRoutes.alive)
        case "/readyz": Readiness(problems: [problem], isWritable: false).response(on: routes)
        default: FCMError(.unavailable).response(for: path)
        }
    }
}
