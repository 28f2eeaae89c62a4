import NIOCore
import NIOHTTPTypes

/// Keeps the start of a graceful shutdown from the streams of an HTTP/2 connection: it is the connection's own business.
///
/// A stream that heard of it would close itself as soon as its answer is written, as an HTTP/1.1 connection does. What is
/// not on the wire by then, because the connection is not writable, would be lost with a RST_STREAM.
final class QuiesceStop: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard !(event is ChannelShouldQuiesceEvent) else { return }
        context.fireUserInboundEventTriggered(event)
    }
}
