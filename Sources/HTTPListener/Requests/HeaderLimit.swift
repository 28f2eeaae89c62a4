import HTTPTypes
package import Hummingbird
package import HummingbirdCore

/// Limits of a request's header.
enum HeaderSize {
    /// The largest header in bytes, each field with 32 bytes on top (RFC 9113 §6.5.2): answered 431 beyond.
    static let listBytes = 16 << 10
    /// The largest header in bytes that is read at all. Beyond, an HTTP/2 connection ends; a request that its client sends
    /// before it has answered the SETTINGS may have 16 KiB.
    static let decodedBytes = 64 << 10
    /// The most header fields over HTTP/1.1.
    static let fieldCount = 200
}

/// Refuses requests whose header is too large, before anything else is made of them.
package struct HeaderLimit<Context: RequestContext>: RouterMiddleware {
    /// Makes the middleware.
    package init() {}

    /// - Throws: ``RequestFault/headerTooLarge``.
    package func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard Self.size(of: request.head) <= HeaderSize.listBytes else { throw RequestFault.headerTooLarge }
        return try await next(request, context)
    }

    private static func size(of head: HTTPRequest) -> Int {
        head.headerFields.reduce(head.path?.utf8.count ?? 0) { size, field in
            size + field.name.rawName.utf8.count + field.value.utf8.count + 32
        }
    }
}
