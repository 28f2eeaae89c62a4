import Hummingbird
import HummingbirdCore
import Links

/// Sends each request to what its host is for: links and their preview pages, or, of every other host, the API.
struct HostResponder: HTTPResponder {
    let api: RouterResponder<GatewayRequestContext>
    /// `nil`: the listener has no links.
    let links: LinkResponder?
    /// By path: the module for browsers, and the page of `herald dev`.
    let files: [String: ServedFile]
    /// `nil`: the listener has no console.
    var console: ConsoleMount?

    func respond(to request: Request, context: GatewayRequestContext) async throws -> Response {
        guard let links, let role = links.role(of: request) else {
            if request.method == .get, let file = files[request.uri.path] { return file.response }
            if let console, console.takes(request) {
                return await console.respond(to: request, context: context, api: api)
            }
            return try await api.respond(to: request, context: context)
        }
        return await links.respond(to: request, as: role, from: context.address)
    }
}
