import HTTPTypes
package import Hummingbird
package import HummingbirdCore
import Logging

/// A request context that carries the request's id.
package protocol IdentifiedRequestContext: RequestContext {
    /// The request's id; empty before ``RequestIDs``.
    var id: String { get set }
}

extension IdentifiedRequestContext {
    /// Sets the request's id, in its log lines too.
    mutating func identify(by id: RequestID) {
        self.id = id.text
        // The server's own number would stand beside it.
        logger[metadataKey: "hb.request.id"] = nil
        logger[metadataKey: "request.id"] = "\(id.text)"
    }
}

/// Gives every request an id: in each of its log lines (`request.id`) and in its answer (`X-Request-Id`).
package struct RequestIDs<Context: IdentifiedRequestContext>: RouterMiddleware {
    /// Makes the middleware.
    package init() {}

    /// Gives a request its id, unless its context has one.
    package func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        // A part of a batch goes by the batch's id.
        guard context.id.isEmpty else { return try await next(request, context) }
        let id = RequestID(request.headers)
        var context = context
        context.identify(by: id)
        var response = try await next(request, context)
        response.headers[fields: .requestID] = [id.field]
        return response
    }
}
