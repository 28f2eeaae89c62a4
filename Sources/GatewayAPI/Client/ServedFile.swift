import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// A file that the gateway serves beside its API: the module for browsers, and in `herald dev` the page to try it.
package struct ServedFile: Sendable {
    /// Who may use it.
    enum Use: Sendable {
        /// The page itself: never kept, and with nothing loaded from anywhere else.
        case here
        /// Pages of any origin: kept for an hour. A worker of it may be one for the whole origin.
        case anywhere
    }

    /// `Content-Type`.
    package let type: String
    /// The body.
    package let text: String
    private let use: Use

    /// A file for the gateway's own origin.
    package init(type: String, text: String) { self.init(type: type, text: text, for: .here) }

    init(type: String, text: String, for use: Use) {
        self.type = type
        self.text = text
        self.use = use
    }

    // Constant names that have the form of one.
    private static let policyField = HTTPField.Name("Content-Security-Policy")!
    private static let originField = HTTPField.Name("Access-Control-Allow-Origin")!
    private static let workerField = HTTPField.Name("Service-Worker-Allowed")!
    private static let typesField = HTTPField.Name("X-Content-Type-Options")!

    /// The answer.
    var response: Response {
        var headers: HTTPFields = [
            .contentType: type, .contentLength: String(text.utf8.count), Self.typesField: "nosniff",
        ]
        switch use {
        case .here:
            headers[.cacheControl] = "no-store"
            headers[Self.policyField] = "default-src 'self'"
        case .anywhere:
            headers[.cacheControl] = "public, max-age=3600"
            headers[Self.originField] = "*"
            headers[Self.workerField] = "/"
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
