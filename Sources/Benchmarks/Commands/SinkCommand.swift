import ArgumentParser
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// `herald-bench sink`: an HTTP/2 server that answers each push with 200 after a while, so that throughput is bound by
/// streams and round trips as it is with APNs. Whatever the path.
struct SinkCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "sink", abstract: "Answers every push with 200, after a delay.",
        discussion: """
            Listens on 127.0.0.1 with TLS and prints its port, and in the next line that of its report: a GET there in \
            the clear, whatever the path, tells in JSON what came since the last one. Answers that fall due within the \
            same millisecond leave together. Runs until it is ended.
            """)

    @Option(help: "The port; 0 lets the kernel choose.") var port = 0
    @Option(help: "A PEM file with the certificate.") var certificate: String
    @Option(help: "A PEM file with its key.") var key: String
    @Option(help: "How long an answer waits, for example 50ms or 500us.") var delay = DelayArgument.zero
    @Option(help: "SETTINGS_MAX_CONCURRENT_STREAMS.") var streams = 500
    @Option(help: "Threads.") var threads = 2
    @Option(help: "The body of each answer, JSON of at most 16000 bytes; none by default.") var answer = ""

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
        guard (1...10_000).contains(streams) else { throw ValidationError("--streams is 1 to 10000.") }
        guard answer.utf8.count <= 16_000 else { throw ValidationError("--answer has at most 16000 bytes.") }
        guard (1...64).contains(threads) else { throw ValidationError("--threads is 1 to 64.") }
    }

    func run() throws {
        try waiting { try await serve() }
    }

    private func serve() async throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
        configuration.applicationProtocols = ["h2"]
        let tls = try NIOSSLContext(configuration: configuration)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let (streams, delay, answer) = (streams, delay.duration, answer)
        let record = SinkRecord()
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(ChannelOptions.backlog, value: 256)
            .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(ChannelOptions.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 65_536))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try SinkConnection.add(
                        to: channel, tls: tls, streams: streams, delay: delay, answer: answer, record: record)
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        let report = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SinkReporter(record))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        show("\(channel.localAddress?.port ?? 0)\n\(report.localAddress?.port ?? 0)")
        try await channel.closeFuture.get()
    }
}

/// Answers a request, the first bytes of which are enough, with a ``SinkReport``.
private final class SinkReporter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let record: SinkRecord

    init(_ record: SinkRecord) {
        self.record = record
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let body: String
        do {
            body = String(decoding: try JSONEncoder().encode(record.take()), as: UTF8.self)
        } catch {
            return context.close(promise: nil)
        }
        var answer = ByteBuffer(
            string: "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: \(body.utf8.count)\r\n\r\n")
        answer.writeString(body)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(answer)).whenComplete { _ in bound.value.close(promise: nil) }
    }
}

/// A duration as an argument: `50ms`, `500us`, `2s`; at most ten seconds.
struct DelayArgument: ExpressibleByArgument, Sendable {
    static let zero = DelayArgument(duration: .zero)
    let duration: Duration

    private init(duration: Duration) {
        self.duration = duration
    }

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), number >= 0, number <= 10_000_000 else { return nil }
        switch argument.dropFirst(digits.count) {
        case "us": duration = .microseconds(number)
        case "ms": duration = .milliseconds(number)
        case "s": duration = .seconds(number)
        default: return nil
        }
        guard duration <= .seconds(10) else { return nil }
    }

    var defaultValueDescription: String { duration == .zero ? "none" : "\(duration)" }
}

extension Duration {
    /// Whole microseconds.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
