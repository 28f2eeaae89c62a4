import NIOCore
import NIOHTTP1

/// Reads one request after the other, of an HTTP/1.1 connection or of a stream of HTTP/2, and writes the answers. All
/// calls come on the channel's event loop.
final class GoogleHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let judge: GoogleJudge
    private let connection: GoogleConnection
    /// `nil`: a connection of HTTP/1.1, which plays nothing.
    private let stage: ScenarioStage?
    private var stream = 0
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLong = false
    private var context: ChannelHandlerContext?
    private var date = HTTPDate()

    init(judge: GoogleJudge, connection: GoogleConnection, stage: ScenarioStage?) {
        self.stage = stage
        self.judge = judge
        self.connection = connection
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if stage != nil { stream = ScenarioStage.number(of: context.channel) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        stage?.closed(stream)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLong = false
        case .body(let part):
            isTooLong = isTooLong || body.count + part.readableBytes > GoogleJudge.longestBodyBytes
            if !isTooLong { body.append(contentsOf: part.readableBytesView) }
        case .end:
            guard let head else { return }
            self.head = nil
            guard let stage, head.uri != "/token" else { return answer(head, context: context) }
            stage.arrived(on: stream) {
                if let context = self.context { self.answer(head, context: context) }
            }
        }
    }

    private func answer(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
        let request = GoogleRequest(
            method: head.method.rawValue, path: String(head.uri.prefix { $0 != "?" }),
            headers: Dictionary(
                head.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $0 + ", " + $1 }),
            body: body)
        let reply =
            isTooLong
            ? .page(413, "Request Entity Too Large")
            : judge.reply(to: request, connection: connection.number) { status, token in
                stage?.judged(stream, status: status, target: token) ?? ScenarioStage.Verdict()
            }
        connection.requestAnswered()
        switch reply.end {
        case .silence: return
        // A stream that closes without an answer is reset; a connection of HTTP/1.1 is gone.
        case .reset: context.close(promise: nil)
        case .answer where reply.delayMilliseconds > 0:
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(reply.delayMilliseconds))) {
                guard let context = self.context else { return }
                self.write(reply, isKeptAlive: head.isKeepAlive, version: head.version, context: context)
            }
        case .answer: write(reply, isKeptAlive: head.isKeepAlive, version: head.version, context: context)
        }
    }

    private func write(
        _ reply: GoogleReply, isKeptAlive: Bool, version: HTTPVersion, context: ChannelHandlerContext
    ) {
        var headers: HTTPHeaders = [
            "content-type": reply.contentType, "date": date.text(forMilliseconds: judge.wallTimeMilliseconds()),
            "server": "ESF", "content-length": "\(reply.body.utf8.count)",
        ]
        if let seconds = reply.retryAfterSeconds { headers.add(name: "retry-after", value: "\(seconds)") }
        if version.major < 2, !isKeptAlive { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: reply.status)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: version, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.body)))), promise: nil)
        let written = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        if version.major < 2, !isKeptAlive { written.futureResult.whenComplete { _ in channel.close(promise: nil) } }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
