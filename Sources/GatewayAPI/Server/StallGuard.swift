import HTTPTypes
import JSON
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import PushModel

/// Ends what a peer does not finish: a request that is not complete in time is answered 408, and an answer that
/// nobody reads ends with its connection.
///
/// A request's time begins with its first byte (``ByteWatch`` tells of it), so that headers that trickle in count too.
final class StallGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: StallLimits
    /// Whether it watches one stream of an HTTP/2 connection, which goes on.
    private let isOfStream: Bool
    /// The head of the request that is being read; `nil` before it and after the request's end.
    private var head: HTTPRequest?
    /// Requests that began and whose answers have not ended.
    private var unanswered = 0
    private var isAnswering = false
    private var isClosing = false
    private var readDeadline: Scheduled<Void>?
    private var writeDeadline: Scheduled<Void>?

    init(limits: StallLimits, isOfStream: Bool = false) {
        self.limits = limits
        self.isOfStream = isOfStream
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            self.head = head
            beginReading(context)
        case .body: break
        case .end:
            head = nil
            endReading()
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ByteWatch.BytesArrived {
            beginReading(context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
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
        let deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.answer)) {
            self.close(context)
        }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { _ in deadline.cancel() }
        return written
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
        readDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.request)) {
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
        let parts = FCMError(.requestTimeout).parts(for: head, endsConnection: !isOfStream)
        for part in parts.dropLast() { context.write(wrapOutboundOut(part), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }

    private func close(_ context: ChannelHandlerContext) {
        isClosing = true
        endTimers()
        context.close(promise: nil)
    }

    private func endTimers() {
        endReading()
        writeDeadline?.cancel()
        writeDeadline = nil
    }
}

/// How long a peer may take.
struct StallLimits: Sendable {
    /// From the first byte of a request to its end.
    var request: Duration
    /// While an answer waits for the peer to read.
    var answer: Duration
}

/// Tells the handlers behind it that bytes came in, before anything is made of them.
final class ByteWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event.
    struct BytesArrived: Sendable {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireUserInboundEventTriggered(BytesArrived())
        context.fireChannelRead(data)
    }
}

/// Gives the answer to what is not HTTP a body, and its own status to a header that is too large: Hummingbird's own is
/// an empty 400.
final class ParseErrorAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var answer = FCMError(.badRequest, "The request is not valid HTTP.", reason: .incompleteRequest)

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .headerOverflow? = error as? HTTPParserError { answer = FCMError(.headerTooLarge) }
        context.fireErrorCaught(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is HostCheck.Refused {
            answer = .badRequest("Host", "A request has exactly one Host field (RFC 9112 section 3.2).")
        }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // No route answers 400 without a body.
        guard case .head(let head) = unwrapOutboundIn(data), head.status == .badRequest,
            head.headerFields[.contentLength] == "0", head.headerFields[.connection] == "close"
        else {
            context.write(data, promise: promise)
            return
        }
        let parts = answer.parts(for: nil, endsConnection: true)
        for part in parts.dropLast(2) { context.write(wrapOutboundOut(part), promise: nil) }
        // The end follows from above.
        context.write(wrapOutboundOut(parts[parts.count - 2]), promise: promise)
    }
}

extension FCMError {
    /// The answer as it goes out below the router, to a request as far as it is known.
    fileprivate func parts(for request: HTTPRequest?, endsConnection: Bool) -> [HTTPResponsePart] {
        let body = ByteBuffer(bytes: json(for: request?.path ?? "").bytes)
        var head = HTTPResponse(
            status: HTTPResponse.Status(code: code.httpStatus),
            headerFields: [
                .contentType: "application/json; charset=UTF-8", .contentLength: String(body.readableBytes),
                .requestID: RequestID(request?.headerFields ?? [:]).text,
            ])
        // HTTP/2 has no such field: it is an error there (RFC 9113 §8.2.2).
        if endsConnection { head.headerFields[.connection] = "close" }
        return [.head(head), .body(body), .end(nil)]
    }
}
