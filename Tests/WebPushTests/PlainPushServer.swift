import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Simulators
import Synchronization
import TestSupport

/// A push service that speaks HTTP/1.1 over TLS and no HTTP/2, on another implementation than the sender's.
final class PlainPushServer: Sendable {
    struct Seen: Sendable {
        let head: HTTPRequestHead
        let body: [UInt8]
    }

    struct Answer: Sendable {
        var status = HTTPResponseStatus.created
        var fields = HTTPHeaders()
        var body = ""
    }

    private struct State {
        var seen: [Seen] = []
        var answers: [String: Answer] = [:]
        var connections = 0
        var mostConnections = 0
    }

    /// The authority that signed its certificate.
    let caFile: String
    private let directory: TestDirectory
    private let channel: any Channel
    private let state = Mutex(State())

    init() async throws {
        directory = try TestDirectory()
        caFile = try PushServiceIdentity(directory: directory.path).caFile
        let chain = try NIOSSLCertificate.fromPEMFile(directory.file("server.pem"))
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: directory.file("server-key.pem"), format: .pem)))
        tls.applicationProtocols = ["http/1.1"]
        let context = try NIOSSLContext(configuration: tls)
        let server = Weak()
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.value.withLock { $0 = self }
    }

    var port: Int { channel.localAddress?.port ?? 0 }
    var seen: [Seen] { state.withLock { $0.seen } }
    /// The most connections with a request on them at a time.
    var mostConnections: Int { state.withLock { $0.mostConnections } }

    /// Answers the requests for a path so from now on.
    func set(_ answer: Answer, for path: String) { state.withLock { $0.answers[path] = answer } }

    func close() async throws { try await channel.close() }

    private func take(_ seen: Seen) -> Answer {
        state.withLock { state in
            state.seen.append(seen)
            return state.answers[seen.head.uri] ?? Answer()
        }
    }

    private func count(_ change: Int) {
        state.withLock { state in
            state.connections += change
            state.mostConnections = max(state.mostConnections, state.connections)
        }
    }

    /// The server, which its connections do not keep.
    private final class Weak: Sendable {
        let value = Mutex<PlainPushServer?>(nil)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: Weak
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ server: Weak) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let server = server.value.withLock { $0 }
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = []
                server?.count(1)
            case .body(let piece): body += piece.readableBytesView
            case .end:
                guard let head, let server else { return }
                let answer = server.take(Seen(head: head, body: body))
                var fields = answer.fields
                fields.add(name: "content-length", value: String(answer.body.utf8.count))
                context.write(
                    wrapOutboundOut(
                        .head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: fields))),
                    promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
                server.count(-1)
            }
        }
    }
}
