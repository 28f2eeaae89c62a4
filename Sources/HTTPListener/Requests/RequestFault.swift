package import HTTPTypes
import HummingbirdCore
package import NIOCore
import NIOHTTPTypes

/// Why a listener refuses a request by itself, without its responder.
package enum RequestFault: Error, Hashable, Sendable {
    /// The request was not complete in time.
    case incomplete
    /// The listener stops, and the request was not complete soon after.
    case stopping
    /// The bytes are not valid HTTP.
    case malformed
    /// The header fields are too large together, or too many.
    case headerTooLarge
    /// The request names no host, more than one, or one that is none.
    case ambiguousHost
}

/// The answer to a request that a listener refuses by itself: each HTTP API has error bodies of its own.
package struct FaultAnswer: Sendable {
    /// The status.
    package var status: HTTPResponse.Status
    /// The media type of the body.
    package var contentType: String
    /// The body.
    package var body: ByteBuffer

    /// Describes an answer.
    package init(status: HTTPResponse.Status, contentType: String, body: ByteBuffer) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// Makes the answer to a fault of a request for `path`, which is empty as long as it is unknown.
    package typealias Make = @Sendable (_ fault: RequestFault, _ path: String) -> FaultAnswer

    /// The answer as it goes out below the responder, to a request as far as it is known.
    func parts(for request: HTTPRequest?, endsConnection: Bool) -> [HTTPResponsePart] {
        var head = HTTPResponse(
            status: status,
            headerFields: [
                .contentType: contentType, .contentLength: String(body.readableBytes),
                .requestID: RequestID(request?.headerFields ?? [:]).text,
            ])
        // HTTP/2 has no such field: it is an error there (RFC 9113 §8.2.2).
        if endsConnection { head.headerFields[.connection] = "close" }
        return [.head(head), .body(body), .end(nil)]
    }
}
