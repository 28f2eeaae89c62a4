import Hummingbird
package import HummingbirdCore
package import Store

/// Where the pages for operators are, and who answers them.
package struct ConsoleMount: Sendable {
    /// Sends a request through the API's own routes, in an operator's name.
    package typealias Calls = @Sendable (_ request: Request, _ use: OperatorUse) async throws -> Response
    /// Answers a request, from the peer of an IP address.
    package typealias Respond =
        @Sendable (_ request: Request, _ peer: String?, _ calls: @escaping Calls) async -> Response

    private let path: String
    private let respond: Respond

    /// Mounts pages below a path.
    package init(path: String, respond: @escaping Respond) {
        self.path = path
        self.respond = respond
    }

    /// Whether a request is for the console.
    func takes(_ request: Request) -> Bool {
        let path = request.uri.path
        return path.hasPrefix(self.path)
            && (path.utf8.count == self.path.utf8.count || path.dropFirst(self.path.count).first == "/")
    }

    /// Answers a request; what it asks of the API runs within it.
    func respond(
        to request: Request, context: GatewayRequestContext, api: RouterResponder<GatewayRequestContext>
    ) async -> Response {
        await respond(request, context.address) { inner, use in
            try await api.respond(to: inner, context: GatewayRequestContext(of: use, within: context))
        }
    }
}
