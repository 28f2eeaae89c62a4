import NIOCore

/// Flushes and puts a close off by one tick of the loop.
///
/// On graceful shutdown Hummingbird's HTTP/2 connection manager closes the connection in the very step in which the
/// last stream ends, before that stream's last frames were flushed: without this the last answer in flight on each
/// connection is lost.
final class FlushBeforeClose: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.flush()
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.value.eventLoop.execute {
            context.value.flush()
            context.value.close(mode: mode, promise: promise)
        }
    }
}
