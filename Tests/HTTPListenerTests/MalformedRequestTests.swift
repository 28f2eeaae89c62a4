import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import HTTPListener

/// A malformed HTTP/2 request ends its own stream.
struct MalformedRequestTests {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, 0, 0)
    /// :method GET, :scheme https, :path / and :authority x, from HPACK's static table (RFC 7541, Appendix A).
    private static let request: [UInt8] = [0x82, 0x87, 0x84, 0x41, 1, UInt8(ascii: "x")]

    private static func frame(_ kind: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        [0, 0, UInt8(payload.count), kind, flags, 0, 0, 0, stream] + payload
    }

    /// A whole request.
    private static func headers(_ stream: UInt8, _ fields: [UInt8]) -> ByteBuffer {
        ByteBuffer(bytes: frame(1, 0x5, stream, fields))
    }

    @Test(
        arguments: [
            // Without :path; with :method twice; with :path behind a field; with an upper-case name; with `connection`;
            // with content-length 5 and no body.
            [0x82, 0x87, 0x41, 1, 0x78], [0x82, 0x82, 0x87, 0x84], [0x82, 0x87, 0x40, 1, 0x61, 1, 0x62, 0x84],
            [0x82, 0x87, 0x84, 0x40, 1, 0x41, 1, 0x62],
            [0x82, 0x87, 0x84, 0x40, 10] + Array("connection".utf8) + [1, 0x78],
            [0x83, 0x87, 0x84, 0x41, 1, 0x78, 0x5c, 1, 0x35],
        ] as [[UInt8]])
    func itEndsItsStreamAndNotTheConnection(fields: [UInt8]) throws {
        let channel = EmbeddedChannel()
        let http2 = NIOHTTP2Handler(mode: .server, initialSettings: [])
        try channel.pipeline.syncOperations.addHandlers([http2, MalformedRequests()])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(bytes: Self.preface))
        try channel.writeInbound(Self.headers(1, fields))
        try channel.writeInbound(Self.headers(3, Self.request))
        // Nothing that ends the connection.
        #expect(throws: Never.self) { try channel.throwIfErrorCaught() }
        #expect(channel.isActive)
        var out: [UInt8] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { out += bytes.readableBytesView }
        // RST_STREAM (3) of the first stream, and no GOAWAY (7).
        var ends: [[UInt8]] = []
        while out.count >= 9 {
            if [3, 7].contains(out[3]) { ends.append([out[3], out[8]]) }
            out.removeFirst(9 + Int(out[2]))
        }
        #expect(ends == [[3, 1]])
        var streams: [HTTP2StreamID] = []
        while let frame = try channel.readInbound(as: HTTP2Frame.self) {
            if case .headers = frame.payload { streams.append(frame.streamID) }
        }
        #expect(streams == [3])
    }

    @Test func anyOtherErrorEndsTheConnection() throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(MalformedRequests())
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.pipeline.fireErrorCaught(NIOHTTP2Errors.badClientMagic())
        channel.embeddedEventLoop.run()
        #expect(!channel.isActive)
    }
}
