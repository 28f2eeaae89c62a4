import NIOCore
import NIOSSL

/// One connection of the sink: HTTP/2 as far as a server needs it that answers everything with 200.
///
/// What ends a request is in the flags of its frames (RFC 9113 §4.1), so header blocks are not decoded, and an answer is
/// the same bytes but for the stream's number, ten without a body: the sink costs less than any sender and is not what a comparison
/// measures. All answers wait equally long, so they are due in the order of the requests: one timer a connection serves
/// them all, at most once in a millisecond.
final class SinkConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct Due {
        let stream: UInt32
        let time: NIODeadline
    }

    private let streams: Int
    private let delay: TimeAmount
    private let answer: SinkAnswer
    private let record: SinkRecord
    private var frames = FrameReader()
    /// What one read brought, for ``record``.
    private var batch = SinkRecord.Batch()
    /// Frames to write with the next flush.
    private var output: ByteBuffer
    /// Bytes of DATA for which the sender's window was not opened again.
    private var unreportedBytes = 0
    /// Answers that wait, oldest first, from ``firstDue`` on.
    private var due: [Due] = []
    private var firstDue = 0
    private var isTimerSet = false
    private var context: ChannelHandlerContext?

    /// The connection's window: no sender shall wait for it.
    private static let windowBytes = 16 << 20
    private static let initialWindowBytes = 65_535
    private static let tick = TimeAmount.milliseconds(1)

    private init(streams: Int, delay: Duration, answer: SinkAnswer, record: SinkRecord) {
        self.streams = streams
        self.answer = answer
        self.delay = .microseconds(delay.microseconds)
        self.record = record
        output = ByteBuffer()
    }

    /// Sets an accepted connection up: TLS, which takes h2 alone, then HTTP/2.
    static func add(
        to channel: any Channel, tls: NIOSSLContext, streams: Int, delay: Duration, answer: String, record: SinkRecord
    ) throws {
        try channel.pipeline.syncOperations.addHandlers(
            NIOSSLServerHandler(context: tls),
            SinkConnection(streams: streams, delay: delay, answer: SinkAnswer(body: answer), record: record))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        output.writeSettings(maxConcurrentStreams: UInt32(streams))
        output.writeWindowUpdate(by: Self.windowBytes - Self.initialWindowBytes)
        flush(context)
        context.fireChannelActive()
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        frames.append(unwrapInboundIn(data))
        while let frame = frames.next() {
            switch frame.kind {
            case .headers:
                if frame.endsStream { arrived(frame.stream, context) }
            case .data:
                unreportedBytes += frame.payload.readableBytes
                batch.dataBytes += frame.payload.readableBytes
                if let probe = ProbeMessage.number(in: frame.payload) { batch.probes.append(probe) }
                if frame.endsStream { arrived(frame.stream, context) }
            case .settings:
                if !frame.isAcknowledgement { output.writeSettingsAcknowledgement() }
            case .ping:
                if !frame.isAcknowledgement { output.writePingAcknowledgement(frame.payload) }
            case .goAway:
                context.close(promise: nil)
            // Senders of a benchmark cancel nothing, and the rest asks for no answer.
            case .other: break
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if unreportedBytes > Self.windowBytes / 2 {
            output.writeWindowUpdate(by: unreportedBytes)
            unreportedBytes = 0
        }
        record.note(batch, answeredAfter: delay)
        batch = SinkRecord.Batch()
        flush(context)
        context.fireChannelReadComplete()
    }

    private func arrived(_ stream: UInt32, _ context: ChannelHandlerContext) {
        batch.pushes += 1
        guard delay > .zero else { return output.write(answer, on: stream) }
        due.append(Due(stream: stream, time: context.eventLoop.now + delay))
        setTimer(context)
    }

    // MARK: Answers

    /// For the first answer that waits, but not before a tick has passed since the last.
    private func setTimer(_ context: ChannelHandlerContext) {
        guard !isTimerSet, firstDue < due.count else { return }
        isTimerSet = true
        let time = max(due[firstDue].time, context.eventLoop.now + Self.tick)
        context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { self.answerDue() }
    }

    private func answerDue() {
        isTimerSet = false
        guard let context else { return }
        let now = context.eventLoop.now
        while firstDue < due.count, due[firstDue].time <= now {
            output.write(answer, on: due[firstDue].stream)
            firstDue += 1
        }
        if firstDue > due.count / 2 {
            due.removeFirst(firstDue)
            firstDue = 0
        }
        flush(context)
        setTimer(context)
    }

    private func flush(_ context: ChannelHandlerContext) {
        guard output.readableBytes > 0 else { return }
        context.writeAndFlush(wrapOutboundOut(output), promise: nil)
        output = ByteBuffer()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
