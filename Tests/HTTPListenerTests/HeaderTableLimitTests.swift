import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPListener

/// The table of response fields that an HTTP/2 peer asks for.
@Suite(.timeLimit(.minutes(5)))
struct HeaderTableLimitTests {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    private static func frame(type: UInt8, _ payload: [UInt8]) -> [UInt8] {
        Array(bytes(UInt32(payload.count)).dropFirst()) + [type, 0, 0, 0, 0, 0] + payload
    }

    private static func settings(_ entries: [(id: UInt8, value: UInt32)]) -> [UInt8] {
        frame(type: 4, entries.flatMap { [0, $0.id] + bytes($0.value) })
    }

    /// A connection's bytes with a table size, beside which nothing changes.
    private static func connection(tableSize: UInt32) -> [UInt8] {
        let data = frame(type: 0, [0, 1] + bytes(.max) + [UInt8](repeating: 1, count: 300))
        return preface + settings([(4, .max), (1, tableSize), (3, 70_000)]) + frame(type: 4, []) + data
            + settings([(1, tableSize)]) + frame(type: 1, [0, 1, 255, 255, 255, 255])
    }

    private static func through(_ bytes: [UInt8], inPiecesOf size: Int) throws -> [UInt8] {
        let channel = EmbeddedChannel(handler: HeaderTableLimit())
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
            while let buffer = try channel.readInbound(as: ByteBuffer.self) { out += Array(buffer.readableBytesView) }
        }
        _ = try channel.finish()
        return out
    }

    @Test(arguments: [1, 2, 7, 100, 10_000], [4097, 65_536, 0x1234_5678, 0x7fff_ffff, .max] as [UInt32])
    func aTableAboveTheDefaultBecomesTheDefault(pieces: Int, size: UInt32) throws {
        let out = try Self.through(Self.connection(tableSize: size), inPiecesOf: pieces)
        #expect(out == Self.connection(tableSize: 4096))
    }

    @Test(arguments: [0, 1, 255, 256, 4095, 4096] as [UInt32])
    func aSmallerTableStays(size: UInt32) throws {
        let bytes = Self.connection(tableSize: size)
        #expect(try Self.through(bytes, inPiecesOf: 5) == bytes)
    }

    @Test func brokenSettingsGoOnAsTheyAre() throws {
        let bytes = Self.preface + Self.frame(type: 4, [0, 1, 255]) + Self.settings([(1, 100)])
        #expect(try Self.through(bytes, inPiecesOf: 3).count == bytes.count)
    }
}
