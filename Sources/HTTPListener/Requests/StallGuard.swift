import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Ends what a peer does not finish: a request that is not complete in time is answered 408, and an answer that
/// its peer does not read ends with its connection.
///
/// A request's time begins with its first byte (``ByteWatch`` tells of it), so that headers that trickle in count too.
/// Once the gateway stops, what is missing of a request has to come soon.
final class StallGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: StallLimits
    private let faultAnswer: FaultAnswer.Make
    /// Whether it watches one stream of an HTTP/2 connection, which goes on.
    private let isOfStream: Bool
    /// The head of the request that is being read; `nil` before it and after the request's end.
    private var head: HTTPRequest?
    /// Requests that began and whose answers have not ended.
    private var unanswered = 0
    private var isAnswering = false
    private var isClosing = false
    /// Whether a graceful shutdown has begun.
    private var isQuiescing = false
    private var readDeadline: Scheduled<Void>?
    private var writeDeadline: Scheduled<Void>?
    /// Whether a request began in this read of its stream: most end in it, and need no deadline.
    private var isReadDeadlineDue = false
    /// The end of an answer that was written and not flushed.
    private var unflushed: WrittenEnd?

    init(limits: StallLimits, faultAnswer: @escaping FaultAnswer.Make, isOfStream: Bool = false) {
        self.limits = limits
        self.faultAnswer = faultAnswer
        self.isOfStream = isOfStream
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            self.head = head
            if isOfStream { isReadDeadlineDue = true } else { beginReading(context) }
        case .body: break
        case .end:
            head = nil
            isReadDeadlineDue = false
            endReading()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isReadDeadlineDue {
            isReadDeadlineDue = false
            beginReading(context)
        }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ByteWatch.BytesArrived {
            beginReading(context)
        } else {
            if event is ChannelShouldQuiesceEvent { quiesce(context) }
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// A request that is being read has a short time from now on: the shutdown does not wait for a peer that sends no more.
    private func quiesce(_ context: ChannelHandlerContext) {
        isQuiescing = true
        guard readDeadline != nil else { return }
        endReading()
        beginReading(context)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isClosing else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(let head): isAnswering = head.status.kind != .informational
        case .body: break
        case .end:
            isAnswering = false
            unanswered = max(0, unanswered - 1)
            context.write(data, promise: limited(promise, context))
            return
        }
        context.write(data, promise: promise)
    }

    /// The promise of an answer's end, which is to be on its way in time: a small answer never fills the channel, so
    /// nothing else tells that it waits for the peer's window.
    private func limited(
        _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void> {
        let end = WrittenEnd()
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in end.left() }
        unflushed = end
        return written
    }

    /// What is flushed leaves in this turn of the loop, but for what the peer has no room for: only that needs a deadline.
    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard let end = unflushed else { return }
        unflushed = nil
        guard !end.hasLeft else { return }
        context.eventLoop.assumeIsolated().execute {
            guard !end.hasLeft else { return }
            end.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(self.limits.answer)) {
                self.close(context)
            }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isClosing {
            // The last answer has its own time.
        } else if context.channel.isWritable {
            writeDeadline?.cancel()
            writeDeadline = nil
        } else if writeDeadline == nil {
            writeDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.answer)) {
                self.close(context)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        endTimers()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        endTimers()
    }

    private func beginReading(_ context: ChannelHandlerContext) {
        guard readDeadline == nil, !isClosing else { return }
        let limit = isQuiescing ? min(limits.request, limits.quiescing) : limits.request
        readDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
            self.readDeadline = nil
            self.readingTimedOut(context)
        }
    }

    private func endReading() {
        readDeadline?.cancel()
        readDeadline = nil
    }

    private func readingTimedOut(_ context: ChannelHandlerContext) {
        let begun = head == nil ? 0 : 1
        guard unanswered <= begun else {
            // Behind a request that is still being answered nothing is read: not the peer's fault.
            beginReading(context)
            return
        }
        guard unanswered == begun, !isAnswering else {
            close(context)
            return
        }
        isClosing = true
        // A stream that closes before its answer is on the wire loses it.
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in self.close(context) }
        writeDeadline?.cancel()
        writeDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.answer)) {
            self.close(context)
        }
        let answer = faultAnswer(isQuiescing ? .stopping : .incomplete, head?.path ?? "")
        let parts = answer.parts(for: head, endsConnection: !isOfStream)
        for part in parts.dropLast() { context.write(wrapOutboundOut(part), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }

    private func close(_ context: ChannelHandlerContext) {
        isClosing = true
        endTimers()
        context.close(promise: nil)
    }

    private func endTimers() {
        isReadDeadlineDue = false
        endReading()
        writeDeadline?.cancel()
        writeDeadline = nil
    }
}

/// The end of an answer on its way to the peer.
private final class WrittenEnd {
    private(set) var hasLeft = false
    /// Closes the channel while it has not left.
    var deadline: Scheduled<Void>?

    /// It left, or never will.
    func left() {
        hasLeft = true
        deadline?.cancel()
        deadline = nil
    }
}

/// How long a peer may take.
struct StallLimits: Sendable {
    /// From the first byte of a request to its end.
    var request: Duration
    /// While an answer waits for the peer to read.
    var answer: Duration
    /// From the start of a graceful shutdown to the end of a request that is being read.
    var quiescing: Duration = .seconds(2)
}
