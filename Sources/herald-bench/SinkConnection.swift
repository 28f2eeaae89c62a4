import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// One connection of the sink, frame by frame: a channel per stream would cost more than the answer.
///
/// All answers wait equally long, so they are due in the order of the requests: one timer a connection serves them all,
/// at most once in a millisecond.
final class SinkConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private struct Due {
        let stream: HTTP2StreamID
        let time: NIODeadline
    }

    private let delay: TimeAmount
    /// Answers that wait, oldest first, from ``firstDue`` on.
    private var due: [Due] = []
    private var firstDue = 0
    private var isTimerSet = false
    private var context: ChannelHandlerContext?
    /// What every answer is.
    private static let answer: HPACKHeaders = [":status": "200"]
    /// The connection's window: no sender shall wait for it.
    private static let windowBytes = 16 << 20
    private static let initialWindowBytes = 65_535
    private static let tick = TimeAmount.milliseconds(1)

    private init(delay: Duration) {
        self.delay = .microseconds(delay.microseconds)
    }

    /// Sets an accepted connection up: TLS, which takes h2 alone, then HTTP/2.
    static func add(to channel: any Channel, tls: NIOSSLContext, streams: Int, delay: Duration) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 8000),
        ]
        try channel.pipeline.syncOperations.addHandlers(
            NIOSSLServerHandler(context: tls),
            NIOHTTP2Handler(
                mode: .server, connectionConfiguration: connection,
                streamConfiguration: NIOHTTP2Handler.StreamConfiguration()),
            SinkConnection(delay: delay))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        openWindow(by: Self.windowBytes - Self.initialWindowBytes, context: context)
        context.flush()
        context.fireChannelActive()
    }

    private func openWindow(by bytes: Int, context: ChannelHandlerContext) {
        let update = HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: bytes)
        context.write(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: update)), promise: nil)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): if headers.endStream { arrived(frame.streamID, context: context) }
        case .data(let data): if data.endStream { arrived(frame.streamID, context: context) }
        case .goAway: context.close(promise: nil)
        // Senders of a benchmark cancel nothing, and the rest asks for no answer.
        case .rstStream, .settings, .ping, .priority, .windowUpdate, .pushPromise, .alternativeService, .origin: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    private func arrived(_ stream: HTTP2StreamID, context: ChannelHandlerContext) {
        guard delay > .zero else { return answer(stream, context: context) }
        due.append(Due(stream: stream, time: context.eventLoop.now + delay))
        setTimer(context: context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let update = event as? NIOHTTP2WindowUpdatedEvent, update.streamID == .rootStream,
            let left = update.inboundWindowSize, left < Self.windowBytes / 2
        {
            openWindow(by: Self.windowBytes - left, context: context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    // MARK: Answers

    /// For the first answer that waits, but not before a tick has passed since the last.
    private func setTimer(context: ChannelHandlerContext) {
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
            answer(due[firstDue].stream, context: context)
            firstDue += 1
        }
        if firstDue > due.count / 2 {
            due.removeFirst(firstDue)
            firstDue = 0
        }
        context.flush()
        setTimer(context: context)
    }

    private func answer(_ stream: HTTP2StreamID, context: ChannelHandlerContext) {
        let headers = HTTP2Frame.FramePayload.headers(.init(headers: Self.answer, endStream: true))
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: headers)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
