import NIOCore

/// Coalesces what an HTTP/2 connection writes within one turn of its event loop, the frames of an answer and the answers of many
/// streams, into one write and one flush: one TLS record and one system call instead of four records for each answer.
///
/// Stands between `NIOHTTP2Handler` and TLS. What is written and flushed leaves when the turn has run what it had to run;
/// once the connection is being closed, at once, since nothing runs after the close.
final class WriteCoalescer: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What a TLS record holds (RFC 8446 §5.1).
    static let recordBytes = 16 << 10
    /// Larger writes are not copied.
    private static let copiedBytes = 4 << 10

    private var pending: ByteBuffer?
    /// The promises of what is pending.
    private var promises: [EventLoopPromise<Void>] = []
    /// Whether a flush is due at the end of the turn.
    private var isFlushDue = false
    private var isClosing = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        let count = bytes.readableBytes
        if count + (pending?.readableBytes ?? 0) > Self.recordBytes { handOn(context) }
        guard !isClosing, count <= Self.copiedBytes else {
            handOn(context)
            context.write(data, promise: promise)
            return
        }
        if pending == nil { pending = context.channel.allocator.buffer(capacity: 512) }
        pending?.writeBuffer(&bytes)
        if let promise { promises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {
        guard !isClosing else {
            handOn(context)
            context.flush()
            return
        }
        guard !isFlushDue else { return }
        isFlushDue = true
        context.eventLoop.assumeIsolated().execute { self.flushNow(context) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        isClosing = true
        flushNow(context)
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isFlushDue = false
        pending = nil
        for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
        promises = []
    }

    private func flushNow(_ context: ChannelHandlerContext) {
        guard isFlushDue else { return }
        isFlushDue = false
        handOn(context)
        context.flush()
    }

    /// Hands what is pending to TLS, in one piece.
    private func handOn(_ context: ChannelHandlerContext) {
        guard let bytes = pending else { return }
        pending = nil
        let promises = self.promises
        self.promises = []
        guard let first = promises.first else {
            context.write(wrapOutboundOut(bytes), promise: nil)
            return
        }
        if promises.count > 1 {
            first.futureResult.whenComplete { result in
                for promise in promises.dropFirst() { promise.completeWith(result) }
            }
        }
        context.write(wrapOutboundOut(bytes), promise: first)
    }
}
