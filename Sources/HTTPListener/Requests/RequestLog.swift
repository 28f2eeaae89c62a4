import HTTPTypes
package import Hummingbird
package import HummingbirdCore
import Logging

/// Logs and counts requests: method, route, status, time. Never the path itself, which can hold a registration token.
package struct RequestLog<Context: RequestContext>: RouterMiddleware {
    private let metrics = RequestMetrics()

    /// Makes the middleware.
    package init() {}

    /// Logs and counts a request once it is answered.
    package func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        let duration = ContinuousClock.now - start
        let route = Self.label(context.endpointPath)
        let status = response.status.code
        metrics.record(route: route, status: status, duration: duration)
        context.logger.debug(
            "Request answered",
            metadata: [
                "http.method": "\(Self.knownMethod(request.method))", "http.route": "\(route)",
                "http.status": "\(status)", "duration": "\(duration)",
            ])
        return response
    }

    // The router's word for "no such path"; a label must not hold what callers make up.
    private static func label(_ endpointPath: String?) -> String {
        guard let endpointPath, endpointPath != "NotFound" else { return "none" }
        return endpointPath
    }

    private static func knownMethod(_ method: HTTPRequest.Method) -> String {
        [.get, .head, .post, .put, .patch, .delete, .options].contains(method) ? method.rawValue : "other"
    }
}
