import HTTPTypes
import Hummingbird
import HummingbirdCore

/// Lets pages of any origin call what apps call: a browser registers from a page whose host is not the gateway's (Fetch
/// standard, CORS). What they present are headers of their own, never cookies, so every origin may.
struct CrossOrigin: RouterMiddleware {
    let paths: RoutePaths

    private static let origin = HTTPField.Name("Access-Control-Allow-Origin")!
    private static let methods = HTTPField.Name("Access-Control-Allow-Methods")!
    private static let headers = HTTPField.Name("Access-Control-Allow-Headers")!
    private static let exposed = HTTPField.Name("Access-Control-Expose-Headers")!
    private static let maximumAge = HTTPField.Name("Access-Control-Max-Age")!
    private static let requestedMethod = HTTPField.Name("Access-Control-Request-Method")!
    private static let requestedHeaders = HTTPField.Name("Access-Control-Request-Headers")!

    /// The resources of a project that apps use.
    private static let resources: Set<Substring> = ["installations", "registrations", "receipts"]

    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        guard request.headers[.origin] != nil, Self.isForApps(request.uri.path) else {
            return try await next(request, context)
        }
        if request.method == .options, request.headers[Self.requestedMethod] != nil {
            let methods = paths.methods(of: request.uri.path)
            if !methods.isEmpty { return Self.preflight(request, methods) }
        }
        var response = try await next(request, context)
        response.headers[Self.origin] = "*"
        response.headers[Self.exposed] = "Retry-After"
        return response
    }

    private static func preflight(_ request: Request, _ methods: [HTTPRequest.Method]) -> Response {
        var response = Response(status: .noContent)
        response.headers[origin] = "*"
        response.headers[Self.methods] = methods.map(\.rawValue).joined(separator: ", ")
        // All that a page asks for: a header that no route reads does no harm.
        if let headers = request.headers[requestedHeaders] { response.headers[Self.headers] = headers }
        response.headers[maximumAge] = "3600"
        return response
    }

    /// `/v1/projects/<project>/<resource>…`.
    private static func isForApps(_ path: String) -> Bool {
        let parts = path.split(separator: "/", maxSplits: 4)
        return parts.count >= 4 && parts[0] == "v1" && parts[1] == "projects" && resources.contains(parts[3])
    }
}
