import Foundation
import NIOCore
import NIOHTTP1

/// What answers at a simulator's control endpoint: plain HTTP/1.1 on loopback.
protocol ControlResponder: Sendable {
    /// The reply to one request.
    func reply(to head: HTTPRequestHead, body: Data) -> ControlReply
}

/// A reply of a control endpoint.
struct ControlReply: Sendable {
    var status: HTTPResponseStatus
    var contentType = "application/json"
    var body = Data()

    static let done = ControlReply(status: .noContent)

    static func json(_ value: some Encodable) throws -> ControlReply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ControlReply(status: .ok, body: try encoder.encode(value) + Data("\n".utf8))
    }

    static func error(_ status: HTTPResponseStatus, _ text: String) -> ControlReply {
        ControlReply(status: status, body: Data("{\"error\":\(jsonString(text))}\n".utf8))
    }
}

extension ControlResponder {
    func set(up channel: any Channel, _ open: OpenConnections) -> EventLoopFuture<Void> {
        open.add(channel)
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(ControlHandler(endpoint: self))
        }
    }

    /// Whether a Host field names this machine; without one it is no browser's.
    func isLocalHost(_ host: String?) -> Bool {
        guard let host else { return true }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "::1"].contains(name)
    }
}

/// Reads one request after the other and writes the replies.
private final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// A rule is a line; more than this is none.
    private static let bodyLimitBytes = 65_536

    private let endpoint: any ControlResponder
    private var head: HTTPRequestHead?
    private var body = Data()
    private var isTooLong = false

    init(endpoint: any ControlResponder) {
        self.endpoint = endpoint
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = Data()
            isTooLong = false
        case .body(let part):
            isTooLong = isTooLong || body.count + part.readableBytes > Self.bodyLimitBytes
            if !isTooLong { body.append(contentsOf: part.readableBytesView) }
        case .end:
            guard let head else { return }
            self.head = nil
            let reply =
                isTooLong
                ? .error(.payloadTooLarge, "the body is longer than 64 KiB") : endpoint.reply(to: head, body: body)
            write(reply, to: head, context: context)
        }
    }

    private func write(_ reply: ControlReply, to head: HTTPRequestHead, context: ChannelHandlerContext) {
        var headers: HTTPHeaders = [:]
        if reply.status != .noContent {
            headers.add(name: "content-type", value: reply.contentType)
            headers.add(name: "content-length", value: "\(reply.body.count)")
        }
        if !head.isKeepAlive { headers.add(name: "connection", value: "close") }
        let response = HTTPResponseHead(version: .http1_1, status: reply.status, headers: headers)
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        if !reply.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: reply.body)))), promise: nil)
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        if !head.isKeepAlive { written.futureResult.whenComplete { _ in channel.close(promise: nil) } }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
