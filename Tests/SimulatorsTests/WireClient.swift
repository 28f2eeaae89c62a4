import NIOCore
import NIOHPACK
import NIOPosix
import NIOSSL
import Simulators
import Synchronization

/// A client that speaks HTTP/2 frame by frame: no client library shows every frame, or breaks a rule on purpose.
struct WireClient {
    /// A frame as it came.
    struct Frame: Equatable {
        enum Kind: UInt8 {
            case data = 0
            case headers = 1
            case resetStream = 3
            case settings = 4
            case ping = 6
            case goAway = 7
            case windowUpdate = 8
        }

        var kind: Kind?
        var flags: UInt8
        var stream: UInt32
        var payload: [UInt8]

        /// Big-endian number in the payload.
        func number(at offset: Int) -> Int {
            payload[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }

        /// The value of a setting, if this is SETTINGS with it.
        func setting(_ id: UInt8) -> Int? {
            guard kind == .settings else { return nil }
            for offset in stride(from: 0, to: payload.count, by: 6) where payload[offset + 1] == id {
                return number(at: offset + 2)
            }
            return nil
        }
    }

    let connection: Connection
    /// What arrived, read or not.
    let bytes: ByteCounter
    let authorization: String

    /// The way to and from the simulator.
    final class Connection {
        private var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        private var received: [UInt8] = []
        private(set) var isReset = false

        init(
            _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        ) {
            iterator = inbound.makeAsyncIterator()
            self.outbound = outbound
        }

        func write(_ bytes: [UInt8]) async throws {
            try await outbound.write(ByteBuffer(bytes: bytes))
        }

        /// The next frame; `nil` at the end of the connection.
        func next() async throws -> Frame? {
            while true {
                if let frame = takeFrame() { return frame }
                do {
                    guard let buffer = try await iterator.next() else { return nil }
                    received += buffer.readableBytesView
                } catch is NIOSSLError {
                    return nil
                } catch is IOError {
                    isReset = true
                    return nil
                }
            }
        }

        private func takeFrame() -> Frame? {
            guard received.count >= 9 else { return nil }
            let length = Int(received[0]) << 16 | Int(received[1]) << 8 | Int(received[2])
            guard received.count >= 9 + length else { return nil }
            let frame = Frame(
                kind: Frame.Kind(rawValue: received[3]), flags: received[4],
                stream: received[5..<9].reduce(0) { $0 << 8 | UInt32($1) }, payload: Array(received[9..<9 + length]))
            received.removeFirst(9 + length)
            return frame
        }
    }

    /// Connects, says hello, and runs `body`.
    static func run(with harness: SimulatorHarness, _ body: (WireClient) async throws -> Void) async throws {
        try await run(
            port: harness.port, trusting: harness.identity.caFile, authorization: "bearer " + harness.token(), body)
    }

    /// The same with any simulator.
    static func run(
        port: Int, trusting caFile: String, authorization: String, _ body: (WireClient) async throws -> Void
    ) async throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(caFile)
        tls.applicationProtocols = ["h2"]
        let bytes = ByteCounter()
        let context = try NIOSSLContext(configuration: tls)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: nil))
                    try channel.pipeline.syncOperations.addHandler(ByteCountHandler(counter: bytes))
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        do {
            try await channel.executeThenClose { inbound, outbound in
                let client = WireClient(
                    connection: Connection(inbound, outbound), bytes: bytes, authorization: authorization)
                try await client.connection.write(
                    Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(.settings))
                try await body(client)
            }
        } catch is IOError {
            // Closing a connection that was reset.
        } catch ChannelError.alreadyClosed {
            // The simulator was first.
        }
    }

    static func frame(
        _ kind: Frame.Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
    ) -> [UInt8] {
        frame(kind.rawValue, flags: flags, stream: stream, payload)
    }

    /// A frame of any type, also one that is none.
    static func frame(
        _ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
    ) -> [UInt8] {
        let length = UInt32(payload.count)
        return [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: stream >> $0) } + payload
    }

    /// Sends the pushes number `numbers`, number 1 on stream 1, 2 on stream 3, and so on; each to a token of its own.
    func send(_ numbers: ClosedRange<Int>, body: String = #"{"aps":{"alert":"Hello"}}"#) async throws {
        var bytes: [UInt8] = []
        for number in numbers {
            let stream = UInt32(number * 2 - 1)
            bytes += try Self.frame(.headers, flags: 4, stream: stream, headers(number))
            bytes += Self.frame(.data, flags: 1, stream: stream, Array(body.utf8))
        }
        try await connection.write(bytes)
    }

    func headers(_ number: Int) throws -> [UInt8] {
        // A new encoder each time and nothing indexed: blocks do not depend on each other.
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        var block = ByteBuffer()
        var headers = HPACKHeaders()
        let token = String(number, radix: 16)
        for (name, value) in [
            (":method", "POST"), (":path", "/3/device/" + String(repeating: "0", count: 8 - token.count) + token),
            (":scheme", "https"), (":authority", "localhost"), ("apns-topic", "com.example.app"),
            ("authorization", authorization),
        ] {
            headers.add(name: name, value: value, indexing: .nonIndexable)
        }
        try encoder.encode(headers: headers, to: &block)
        return Array(block.readableBytesView)
    }

    /// Acknowledges SETTINGS.
    func acknowledge() async throws {
        try await connection.write(Self.frame(.settings, flags: 1))
    }

    /// Reads until a frame for which `isLast` holds, or the end; acknowledges every SETTINGS unless told otherwise.
    func frames(
        acknowledging: Bool = true, until isLast: (Frame) -> Bool = { _ in false }
    ) async throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = try await connection.next() {
            frames.append(frame)
            if acknowledging, frame.kind == .settings, frame.flags == 0 { try await acknowledge() }
            if isLast(frame) { break }
        }
        return frames
    }

    /// A push on its own, and the frames up to the end of its answer.
    @discardableResult
    func push(_ number: Int) async throws -> [Frame] {
        try await send(number...number)
        return try await frames { $0.endsStream(of: number) }
    }
}

extension WireClient.Frame {
    /// Whether it ends the stream of push `number`.
    func endsStream(of number: Int) -> Bool {
        stream == UInt32(number * 2 - 1)
            && (kind == .resetStream || (kind == .headers || kind == .data) && flags & 1 == 1)
    }
}

/// Counts the bytes that arrived on a connection.
final class ByteCounter: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .acquiring) }

    func add(_ count: Int) {
        value.add(count, ordering: .releasing)
    }
}

private final class ByteCountHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let counter: ByteCounter

    init(counter: ByteCounter) {
        self.counter = counter
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        counter.add(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }
}
