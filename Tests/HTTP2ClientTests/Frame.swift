/// HTTP/2 frames by hand (RFC 9113 §4.1), so that the peer of a test shares no code with the engine.
struct Frame: Equatable, Sendable {
    var type: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    var bytes: [UInt8] {
        let count = UInt32(payload.count)
        let head = [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags]
        return head + Self.big(stream) + payload
    }

    private static func big(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
    }

    static func settings(maxStreams: UInt32?) -> Frame {
        Frame(type: settings, payload: maxStreams.map { [0, 3] + big($0) } ?? [])
    }

    static let settingsAcknowledged = Frame(type: settings, flags: 1)

    static func pong(_ ping: Frame) -> Frame { Frame(type: Self.ping, flags: 1, payload: ping.payload) }

    static func reset(_ stream: UInt32, code: UInt32) -> Frame {
        Frame(type: reset, stream: stream, payload: big(code))
    }

    static func windowUpdate(_ stream: UInt32, _ grant: UInt32) -> Frame {
        Frame(type: windowUpdate, stream: stream, payload: big(grant))
    }

    static func goAway(lastStream: UInt32, code: UInt32, debug: String = "") -> Frame {
        Frame(type: goAway, payload: big(lastStream) + big(code) + Array(debug.utf8))
    }

    /// An answer without a body: `:status` as a literal without indexing (RFC 7541 §6.2.2, static name 8).
    static func answer(_ stream: UInt32, status: Int, ends: Bool = true) -> Frame {
        Frame(type: headers, flags: ends ? 5 : 4, stream: stream, payload: [0x08, 3] + Array(String(status).utf8))
    }

    static func data(_ stream: UInt32, _ bytes: [UInt8], ends: Bool) -> Frame {
        Frame(type: data, flags: ends ? 1 : 0, stream: stream, payload: bytes)
    }

    /// END_STREAM on DATA and HEADERS, ACK on SETTINGS and PING.
    var hasFirstFlag: Bool { flags & 1 != 0 }
}

/// Cuts a byte stream into frames; a preface begins a new connection.
struct FrameParser {
    private var buffer: [UInt8] = []

    mutating func append(_ bytes: some Sequence<UInt8>) { buffer += bytes }

    mutating func next() -> Frame? {
        if buffer.first == Frame.preface.first {
            guard buffer.count >= Frame.preface.count else { return nil }
            buffer.removeFirst(Frame.preface.count)
        }
        guard buffer.count >= 9 else { return nil }
        let length = Int(buffer[0]) << 16 | Int(buffer[1]) << 8 | Int(buffer[2])
        guard buffer.count >= 9 + length else { return nil }
        let stream = buffer[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        defer { buffer.removeFirst(9 + length) }
        return Frame(type: buffer[3], flags: buffer[4], stream: stream, payload: Array(buffer[9..<9 + length]))
    }
}
