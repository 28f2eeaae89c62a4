import HTTPTypes
package import Hummingbird
package import HummingbirdCore

/// Refuses requests whose `:authority` is no host, or another one than their `Host` (RFC 9113 §8.3.1), as ``HostCheck``
/// does over HTTP/1.1.
package struct HostLimit<Context: RequestContext>: RouterMiddleware {
    /// Makes the middleware.
    package init() {}

    /// - Throws: ``RequestFault/ambiguousHost``.
    package func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.head.hasSoundHost else { throw RequestFault.ambiguousHost }
        return try await next(request, context)
    }
}

extension HTTPRequest {
    /// The host with or without a port that the request is for: of `:authority`, or of `Host` where that is missing, as in
    /// a request that something translated from HTTP/1.1; `nil`: none, or not a sound one.
    package var soundAuthority: String? { hasSoundHost ? authority ?? headerFields[.hostField] : nil }

    fileprivate var hasSoundHost: Bool {
        let field = headerFields[.hostField]
        guard let host = authority ?? field, RequestAuthority.isSound(host) else {
            return authority == nil && field == nil
        }
        return field == nil || field == host
    }
}

extension HTTPField.Name {
    fileprivate static let hostField = HTTPField.Name("Host")!
}
