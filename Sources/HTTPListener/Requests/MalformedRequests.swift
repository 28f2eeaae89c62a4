import NIOCore
import NIOHTTP2

/// Lets a malformed request end its own stream and no other: one that lacks a pseudo-header, has one twice or in the wrong
/// place, a name that HTTP/2 does not allow, or another length than it says (RFC 9113 §8.1.1).
///
/// swift-nio-http2 has answered it with RST_STREAM then, and counts how many there are; what it tells of it besides is no error
/// of the connection. Any other error ends the connection. Stands behind the library's handler.
final class MalformedRequests: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !Self.isOfRequest(error) else { return }
        context.close(promise: nil)
    }

    /// Whether the library found an error in a block of fields or in the length of a body: those never end a connection by
    /// themselves.
    private static func isOfRequest(_ error: any Error) -> Bool {
        switch error {
        case is NIOHTTP2Errors.InvalidPseudoHeaders, is NIOHTTP2Errors.DuplicatePseudoHeader,
            is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.UnknownPseudoHeader,
            is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.InvalidPseudoHeaderValue,
            is NIOHTTP2Errors.EmptyPathHeader, is NIOHTTP2Errors.ForbiddenHeaderField,
            is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue,
            is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
            is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue,
            is NIOHTTP2Errors.TrailersWithoutEndStream:
            true
        default: false
        }
    }
}
