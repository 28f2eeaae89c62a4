import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression

/// How the body of a request is encoded (RFC 9110 §8.4).
enum ContentCoding: Sendable {
    /// As it is.
    case identity
    /// gzip (RFC 1952), one member.
    case gzip

    /// Reads `Content-Encoding`.
    ///
    /// - Throws: 415 for any other coding, and for more than one.
    init(_ headers: HTTPFields) throws(FCMError) {
        switch headers[.contentEncoding]?.lowercased() {
        case nil, "", "identity": self = .identity
        case "gzip", "x-gzip": self = .gzip
        default: throw FCMError(.unsupportedEncoding)
        }
    }

    /// The body without its coding.
    ///
    /// - Throws: BODY_TOO_LARGE when it holds more than `limitBytes`; MALFORMED_ENCODING when it is not gzip, ends early
    ///   or goes on behind its end.
    func decoded(_ bytes: ByteBuffer, limitBytes: Int) throws(FCMError) -> ByteBuffer {
        switch self {
        case .identity: return bytes
        case .gzip:
            do {
                return try Self.inflated(bytes, limitBytes: limitBytes)
            } catch NIOHTTPDecompression.DecompressionError.limit {
                throw .bodyTooLarge(limitBytes: limitBytes)
            } catch {
                throw FCMError(.badRequest, "The body is not valid gzip.", reason: .malformedEncoding)
            }
        }
    }

    /// What is decoded at once, in bytes: the decoder sets twice as much aside before it looks at the limit.
    private static let pieceBytes = 8 << 10

    /// The decoder is a channel handler of HTTP/1 and has no other form; a channel of its own also serves HTTP/2, where
    /// requests have other types, and lets the limit be the route's.
    private static func inflated(_ bytes: ByteBuffer, limitBytes: Int) throws -> ByteBuffer {
        let channel = EmbeddedChannel(handler: NIOHTTPRequestDecompressor(limit: .size(limitBytes)))
        defer {
            // Closing fails only when an error is left over, and that was thrown before.
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: ["Content-Encoding": "gzip"])
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        var (bytes, body) = (bytes, ByteBuffer())
        while let piece = bytes.readSlice(length: min(pieceBytes, bytes.readableBytes)), piece.readableBytes > 0 {
            try channel.writeInbound(HTTPServerRequestPart.body(piece))
            try take(from: channel, into: &body)
        }
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        try take(from: channel, into: &body)
        return body
    }

    private static func take(from channel: EmbeddedChannel, into body: inout ByteBuffer) throws {
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            if case .body(var piece) = part { body.writeBuffer(&piece) }
        }
    }
}

extension FCMError {
    /// A body that is larger than the route or the configuration takes.
    static func bodyTooLarge(limitBytes: Int) -> FCMError {
        FCMError(.bodyTooLarge, "Request payload size exceeds the limit: \(limitBytes) bytes.")
    }
}
