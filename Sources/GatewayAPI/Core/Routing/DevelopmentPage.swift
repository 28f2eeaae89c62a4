import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// A file that the gateway serves beside its API, for trying it out.
package struct DevelopmentPage: Sendable {
    /// `Content-Type`.
    package let type: String
    /// The body.
    package let text: String

    /// Puts a page together.
    package init(type: String, text: String) {
        self.type = type
        self.text = text
    }

    /// A constant name that has the form of one.
    private static let policyField = HTTPField.Name("Content-Security-Policy")!

    /// The answer: never kept, and with nothing loaded from anywhere else.
    var response: Response {
        Response(
            status: .ok,
            headers: [
                .contentType: type, .cacheControl: "no-store", Self.policyField: "default-src 'self'",
                .contentLength: String(text.utf8.count),
            ], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
