import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// Answers a request of an HTTP/2 stream, called on the loop of `channel`, the stream.
typealias RequestResponder = @Sendable (_ request: Request, _ channel: any Channel) async -> Response

/// The request of one HTTP/2 stream: gathers its body, hands it on once it can be answered, and writes the answer.
///
/// A body of one or a few frames is one buffer when the request is handed on. A longer one is read while the request is being
/// answered, no faster than its reader. Owned by the event loop of its channel, on which ``answer(by:)`` runs too.
final class StreamRequest: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The longest body that is waited for, in bytes.
    static let gatheredBytes = 16 << 10

    /// What has come of the request.
    private enum Progress {
        case waiting
        /// Its head and the start of a body that is short so far.
        case gathering(HTTPRequest, ByteBuffer?)
        /// It is being answered, and its body goes on.
        case passingOn(RequestBodyStream.Source)
        case ended
    }

    private let arrivals: AsyncStream<NIOLoopBound<StreamRequest>>.Continuation
    private let connections: OpenConnections
    /// Whether its connection is noted as one with a request.
    private var isNoted = false
    private var progress = Progress.waiting
    private var request: Request?
    private var context: ChannelHandlerContext?
    /// Whether the body's reader has enough for now.
    private var isReaderFull = false
    /// Whether a read was asked for meanwhile.
    private var isReadDue = false
    /// Who waits for room to write.
    private var writer: CheckedContinuation<Void, any Error>?

    /// A stream without a request.
    ///
    /// - Parameters:
    ///   - arrivals: gets this handler once its request can be answered.
    ///   - connections: where its connection counts as one with a request, from the head of it to the end of the stream.
    init(_ arrivals: AsyncStream<NIOLoopBound<StreamRequest>>.Continuation, _ connections: OpenConnections) {
        self.arrivals = arrivals
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        end(ChannelError.ioOnClosedChannel)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    /// An error of a stream ends it.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error)
        context.close(promise: nil)
    }

    private func end(_ error: any Error) {
        if case .passingOn(let body) = progress { body.finish(error) }
        progress = .ended
        // A body without a reader holds this handler.
        request = nil
        writer?.resume(throwing: error)
        writer = nil
        guard isNoted, let context else { return }
        isNoted = false
        connections.endRequest(on: context.channel)
    }
}

// MARK: Reading

extension StreamRequest {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let bytes): goOn(bytes, context)
        case .end: complete(context)
        }
    }

    func read(context: ChannelHandlerContext) {
        guard !isReaderFull else {
            isReadDue = true
            return
        }
        context.read()
    }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        isNoted = true
        connections.beginRequest(on: context.channel)
        guard let length = head.headerFields[.contentLength], let length = Int(length), length > Self.gatheredBytes
        else {
            progress = .gathering(head, nil)
            return
        }
        passOn(head, context)
    }

    private func goOn(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        switch progress {
        case .gathering(let head, let gathered):
            guard bytes.readableBytes + (gathered?.readableBytes ?? 0) <= Self.gatheredBytes else {
                let body = passOn(head, context)
                if let gathered { isReaderFull = body.yield(gathered) == .stopProducing }
                goOn(bytes, context)
                return
            }
            progress = .waiting
            var all = gathered ?? ByteBuffer()
            all.writeImmutableBuffer(bytes)
            progress = .gathering(head, gathered == nil ? bytes : all)
        case .passingOn(let body): isReaderFull = body.yield(bytes) == .stopProducing
        case .waiting, .ended: break
        }
    }

    private func complete(_ context: ChannelHandlerContext) {
        switch progress {
        case .gathering(let head, let body):
            handOn(Request(head: head, body: RequestBody(buffer: body ?? ByteBuffer())), context)
        case .passingOn(let body): body.finish()
        case .waiting, .ended: break
        }
        progress = .ended
    }

    /// Hands the request on before its body is there.
    @discardableResult private func passOn(
        _ head: HTTPRequest, _ context: ChannelHandlerContext
    ) -> RequestBodyStream.Source {
        let stream = NIOLoopBound(self, eventLoop: context.eventLoop)
        let (body, source) = RequestBodyStream.make { stream.eventLoop.execute { stream.value.resumeReading() } }
        progress = .passingOn(source)
        handOn(Request(head: head, body: body), context)
        return source
    }

    private func handOn(_ request: Request, _ context: ChannelHandlerContext) {
        self.request = request
        arrivals.yield(NIOLoopBound(self, eventLoop: context.eventLoop))
    }

    /// The body's reader takes more.
    private func resumeReading() {
        isReaderFull = false
        guard isReadDue else { return }
        isReadDue = false
        context?.read()
    }
}

// MARK: Answering

extension StreamRequest {
    /// Has the request answered, and writes the answer. An answer that can't be written to its end resets the stream.
    func answer(by responder: RequestResponder) async {
        guard let request, let channel = context?.channel else { return }
        // Whatever becomes of it: a body that is kept would keep this handler.
        self.request = nil
        let response = await responder(request, channel)
        do {
            try await write(response)
        } catch {
            context?.close(promise: nil)
        }
    }

    private func write(_ response: Response) async throws {
        guard let context else { throw ChannelError.ioOnClosedChannel }
        let length = response.body.contentLength
        try put(.head(response.head))
        guard length != 0 else {
            try put(.end(nil))
            context.flush()
            return
        }
        try await response.body.write(
            StreamAnswerWriter(
                stream: NIOLoopBound(self, eventLoop: context.eventLoop), isOfKnownLength: length != nil))
    }

    /// Writes a part, which leaves with the next flush.
    ///
    /// - Throws: `ChannelError.ioOnClosedChannel` once the stream has ended.
    fileprivate func put(_ part: HTTPResponsePart) throws {
        guard let context, context.channel.isActive else { throw ChannelError.ioOnClosedChannel }
        context.write(wrapOutboundOut(part), promise: nil)
    }

    fileprivate func flush() { context?.flush() }

    fileprivate var isWritable: Bool { context?.channel.isWritable ?? false }

    /// Resumes once the peer has taken enough of what was written, or throws `ChannelError.ioOnClosedChannel`.
    fileprivate func wait(_ continuation: CheckedContinuation<Void, any Error>) {
        guard let context, context.channel.isActive else {
            continuation.resume(throwing: ChannelError.ioOnClosedChannel)
            return
        }
        guard !isWritable else {
            continuation.resume()
            return
        }
        writer = continuation
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            writer?.resume()
            writer = nil
        }
        context.fireChannelWritabilityChanged()
    }
}

/// Writes the body of an answer to its stream, from any executor.
private struct StreamAnswerWriter: ResponseBodyWriter, Sendable {
    let stream: NIOLoopBound<StreamRequest>
    /// Whether the body is one that is there: it may leave with its end. Each part of another leaves at once, because
    /// the next one may be long in coming.
    let isOfKnownLength: Bool

    func write(_ buffer: ByteBuffer) async throws {
        let mustWait = try await onLoop { [isOfKnownLength] stream in
            try stream.put(.body(buffer))
            guard !isOfKnownLength || !stream.isWritable else { return false }
            stream.flush()
            return !stream.isWritable
        }
        guard mustWait else { return }
        try await withCheckedThrowingContinuation { continuation in
            if stream.eventLoop.inEventLoop {
                stream.value.wait(continuation)
            } else {
                stream.eventLoop.execute { stream.value.wait(continuation) }
            }
        }
    }

    func finish(_ trailers: HTTPFields?) async throws {
        try await onLoop { stream in
            try stream.put(.end(trailers))
            stream.flush()
        }
    }

    private func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (StreamRequest) throws -> Value
    ) async throws -> Value {
        if stream.eventLoop.inEventLoop { return try body(stream.value) }
        return try await stream.eventLoop.submit { try body(stream.value) }.get()
    }
}
