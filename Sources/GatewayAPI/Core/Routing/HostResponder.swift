import HTTPListener
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Links
import Traces
import Tracing

/// Sends each request to what its host is for: links and their preview pages, or, of every other host, the API.
struct HostResponder: HTTPResponder {
    let api: RouterResponder<GatewayRequestContext>
    /// `nil`: the listener has no links.
    let links: LinkResponder?
    /// By path: the module for browsers, and the page of `herald dev`.
    let files: [String: ServedFile]
    /// `nil`: the listener has no console.
    var console: ConsoleMount?
    /// Records requests to hosts of links; those to the API have a middleware. `nil`: nothing is traced.
    var tracer: StepTracer?

    func respond(to request: Request, context: GatewayRequestContext) async throws -> Response {
        guard let links, let role = links.role(of: request) else {
            if request.method == .get, let file = files[request.uri.path] { return file.response }
            if let console, console.takes(request) {
                return await console.respond(to: request, context: context, api: api)
            }
            return try await api.respond(to: request, context: context)
        }
        guard let tracer else { return await links.respond(to: request, as: role, from: context.address) }
        let trace = tracer.request(of: SpanContext(callerOf: request))
        let response = await links.respond(to: request, as: role, from: context.address)
        record(request, as: role, response.status.code, trace, tracer)
        return response
    }

    /// Never the path or the query: a link may be made for one person, and a long one says what it opens. Visitors may send a
    /// `traceparent`; whether spans are recorded is not for them to decide.
    private func record(
        _ request: Request, as role: LinkHosts.Role, _ status: Int, _ trace: RequestTrace, _ tracer: StepTracer
    ) {
        let route =
            switch role {
            case .links: "links"
            case .preview: "links preview"
            }
        let method = String(request.method.rawValue.prefix(16))
        tracer.record(
            trace, name: "\(method) \(route)", status: status, isSend: false, isByCaller: false,
            [
                "http.request.method": .string(method), "http.route": .string(route),
                "server.address": .string(role.host),
            ])
    }
}
