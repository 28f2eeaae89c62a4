import NIOCore

/// Cuts what a client sends into frames (RFC 9113 §4.1).
struct FrameReader {
    /// One frame.
    struct Frame {
        let kind: Kind
        let flags: UInt8
        let stream: UInt32
        let payload: ByteBuffer

        /// The kinds that a server of a benchmark has to tell apart.
        enum Kind {
            case data, headers, settings, ping, goAway, other
        }

        /// END_STREAM of DATA and HEADERS.
        var endsStream: Bool { flags & 0x1 != 0 }
        /// ACK of SETTINGS and PING.
        var isAcknowledgement: Bool { flags & 0x1 != 0 }
    }

    private static let prefaceBytes = 24
    private static let headBytes = 9
    private var bytes = ByteBuffer()
    private var isPrefaceRead = false

    /// Takes what was read.
    mutating func append(_ more: ByteBuffer) {
        var more = more
        if bytes.readableBytes == 0 {
            bytes = more
        } else {
            bytes.discardReadBytes()
            bytes.writeBuffer(&more)
        }
    }

    /// The next whole frame.
    mutating func next() -> Frame? {
        if !isPrefaceRead {
            guard bytes.readableBytes >= Self.prefaceBytes else { return nil }
            bytes.moveReaderIndex(forwardBy: Self.prefaceBytes)
            isPrefaceRead = true
        }
        let start = bytes.readerIndex
        guard let lengthAndKind = bytes.getInteger(at: start, as: UInt32.self),
            let flags = bytes.getInteger(at: start + 4, as: UInt8.self),
            let stream = bytes.getInteger(at: start + 5, as: UInt32.self)
        else { return nil }
        let length = Int(lengthAndKind >> 8)
        guard let payload = bytes.getSlice(at: start + Self.headBytes, length: length) else { return nil }
        bytes.moveReaderIndex(forwardBy: Self.headBytes + length)
        return Frame(
            kind: Self.kind(UInt8(truncatingIfNeeded: lengthAndKind)), flags: flags, stream: stream & 0x7fff_ffff,
            payload: payload)
    }

    private static func kind(_ number: UInt8) -> Frame.Kind {
        switch number {
        case 0: .data
        case 1: .headers
        case 4: .settings
        case 6: .ping
        case 7: .goAway
        default: .other
        }
    }
}

/// The same to every request.
struct SinkAnswer {
    /// `:status: 200`, entry 8 of HPACK's static table, and with a body `content-type`, entry 31, as a literal that is not
    /// indexed (RFC 7541 §6.2.2).
    let fields: [UInt8]
    let body: [UInt8]

    /// - Parameter body: JSON that fits into a frame; empty: none.
    init(body: String) {
        let type = Array("application/json; charset=UTF-8".utf8)
        self.body = Array(body.utf8)
        fields = body.isEmpty ? [0x88] : [0x88, 0x0f, 0x10, UInt8(type.count)] + type
    }
}

extension ByteBuffer {
    private mutating func writeFrameHead(length: Int, kind: UInt8, flags: UInt8, stream: UInt32) {
        writeInteger(UInt32(length) << 8 | UInt32(kind))
        writeInteger(flags)
        writeInteger(stream)
    }

    /// HEADERS, with the end of the stream unless there is a body, which follows as DATA.
    mutating func write(_ answer: SinkAnswer, on stream: UInt32) {
        let isAll = answer.body.isEmpty
        writeFrameHead(length: answer.fields.count, kind: 1, flags: isAll ? 0x5 : 0x4, stream: stream)
        writeBytes(answer.fields)
        guard !isAll else { return }
        writeFrameHead(length: answer.body.count, kind: 0, flags: 0x1, stream: stream)
        writeBytes(answer.body)
    }

    /// SETTINGS with SETTINGS_MAX_CONCURRENT_STREAMS.
    mutating func writeSettings(maxConcurrentStreams: UInt32) {
        writeFrameHead(length: 6, kind: 4, flags: 0, stream: 0)
        writeInteger(UInt16(3))
        writeInteger(maxConcurrentStreams)
    }

    /// SETTINGS that acknowledges the client's.
    mutating func writeSettingsAcknowledgement() {
        writeFrameHead(length: 0, kind: 4, flags: 0x1, stream: 0)
    }

    /// PING that answers one with this payload.
    mutating func writePingAcknowledgement(_ payload: ByteBuffer) {
        var payload = payload
        writeFrameHead(length: payload.readableBytes, kind: 6, flags: 0x1, stream: 0)
        writeBuffer(&payload)
    }

    /// WINDOW_UPDATE of the connection.
    mutating func writeWindowUpdate(by bytes: Int) {
        writeFrameHead(length: 4, kind: 8, flags: 0, stream: 0)
        writeInteger(UInt32(bytes))
    }
}
