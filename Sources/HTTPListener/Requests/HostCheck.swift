import NIOCore
import NIOHTTP1

/// Refuses an HTTP/1.1 request that has no `Host` field, and any request that has more than one: what stands in front
/// might have taken another one for the request's (RFC 9112 §3.2). HTTP/1.0 knows no such field.
///
/// Stands right behind the decoder, where the version is still known. The refusal takes the way of what is no HTTP:
/// it is answered 400 after the requests before it, and the connection ends.
final class HostCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// Tells ``ParseErrorAnswers`` what is wrong: the decoder's errors have no such case.
    struct Refused: Sendable {}

    private var isBroken = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        if case .head(let head) = unwrapInboundIn(data), !Self.isSound(head) {
            isBroken = true
            context.fireUserInboundEventTriggered(Refused())
            // Any error of the decoder has the request answered 400.
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        }
        context.fireChannelRead(closing(data))
    }

    /// Writes `Connection: close` as Hummingbird looks for it where the request's version and field say so in any way: in
    /// capitals, in a list, or as HTTP/1.0 without `keep-alive` (RFC 9112 section 9.3).
    private func closing(_ data: NIOAny) -> NIOAny {
        guard case .head(var head) = unwrapInboundIn(data), !head.isKeepAlive else { return data }
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        return wrapInboundOut(.head(head))
    }

    private static func isSound(_ head: HTTPRequestHead) -> Bool {
        let count = head.headers["Host"].count
        return count == 1 || (count == 0 && head.version == .http1_0)
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Puts a ``HostCheck`` behind the decoder of an HTTP/1 connection.
    func checkHosts() throws {
        let decoder = try handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try addHandler(HostCheck(), position: .after(decoder))
    }
}
