/// Holds what a client sends to the letter of RFC 9113, frame by frame. Told of every frame that its server sends, so
/// that it knows what the client may do; SETTINGS count from their acknowledgement on.
struct StrictReader {
    private struct Stream {
        var window: Int
        var hasClientEnded = false
        var hasServerEnded = false
        var isReset = false
        /// The server closed it; frames of the client may still be under way.
        var isOver: Bool { isReset || (hasClientEnded && hasServerEnded) }
    }

    /// What has come so far, for tests that want to know that it did.
    private(set) var requests = 0
    private(set) var bodyBytes = 0
    private(set) var hasGoAway = false
    private(set) var largestFrame = 0
    private(set) var mostOpen = 0
    private(set) var fields: [HPACKDecoder.Field] = []

    /// Names of ``indexedOnce`` that came on this connection.
    private var named: Set<String> = []
    private var buffer: [UInt8] = []
    private var hasPreface = false
    private var hasSettings = false
    private var block: (stream: UInt32, bytes: [UInt8], ends: Bool)?
    private var decoder = HPACKDecoder()
    private var streams: [UInt32: Stream] = [:]
    private var last: UInt32 = 0
    private var window = 65_535
    private var initialWindow = 65_535
    private var frameLimit = 16_384
    /// Ours, not the RFC's: one stream until SETTINGS come.
    private var streamLimit = 1
    private var unacknowledged: [[(id: UInt8, value: Int)]] = []
    private var pings: [[UInt8]] = []

    /// Streams on which the client has ended its side and the server has not.
    var answerable: [UInt32] { open.filter { streams[$0]?.hasClientEnded == true } }
    /// Streams that are not over.
    private(set) var open: [UInt32] = []

    // MARK: The server

    /// The server sends a frame now.
    mutating func sends(_ frame: Frame) {
        let number = frame.payload.count >= 4 ? frame.payload[..<4].reduce(0) { $0 << 8 | Int($1) } : 0
        switch frame.type {
        case Frame.settings where !frame.hasFirstFlag:
            unacknowledged.append(
                stride(from: 0, to: frame.payload.count, by: 6).map { start in
                    (frame.payload[start + 1], frame.payload[start + 2..<start + 6].reduce(0) { $0 << 8 | Int($1) })
                })
        case Frame.ping where !frame.hasFirstFlag: pings.append(frame.payload)
        case Frame.windowUpdate where frame.stream == 0: window += number
        case Frame.windowUpdate: change(frame.stream) { $0.window += number }
        case Frame.reset: change(frame.stream) { $0.isReset = true }
        case Frame.headers, Frame.data: if frame.hasFirstFlag { change(frame.stream) { $0.hasServerEnded = true } }
        default: break
        }
    }

    // MARK: The client

    /// The client's next bytes.
    mutating func receive(_ bytes: [UInt8]) throws {
        buffer += bytes
        if !hasPreface {
            guard buffer.count >= Frame.preface.count else { return }
            guard buffer.starts(with: Frame.preface) else { throw Violation("no preface (§3.4)") }
            buffer.removeFirst(Frame.preface.count)
            hasPreface = true
        }
        var start = 0
        defer { buffer.removeFirst(start) }
        while buffer.count >= start + 9 {
            let length = Int(buffer[start]) << 16 | Int(buffer[start + 1]) << 8 | Int(buffer[start + 2])
            guard length <= frameLimit else { throw Violation("a frame of \(length) bytes (§4.2)") }
            guard buffer.count >= start + 9 + length else { return }
            guard buffer[start + 5] & 0x80 == 0 else { throw Violation("the reserved bit is set (§4.1)") }
            let frame = Frame(
                type: buffer[start + 3], flags: buffer[start + 4],
                stream: buffer[start + 5..<start + 9].reduce(0) { $0 << 8 | UInt32($1) },
                payload: Array(buffer[start + 9..<start + 9 + length]))
            start += 9 + length
            largestFrame = max(largestFrame, length)
            try check(frame)
        }
    }

    private mutating func check(_ frame: Frame) throws {
        guard hasSettings || frame.type == Frame.settings else { throw Violation("SETTINGS are not first (§3.4)") }
        if let block {
            guard frame.type == 9, frame.stream == block.stream else { throw Violation("amid a block (§6.10)") }
        }
        switch frame.type {
        case Frame.data: try data(frame)
        case Frame.headers: try headers(frame)
        case Frame.reset: try reset(frame)
        case Frame.settings: try settings(frame)
        case Frame.ping: try ping(frame)
        case Frame.goAway: try goAway(frame)
        case Frame.windowUpdate: try windowUpdate(frame)
        case 9: try continuation(frame)
        case 2: throw Violation("PRIORITY, which is deprecated (§5.3.2)")
        default: throw Violation("a client has no frame of type \(frame.type)")
        }
    }

    private mutating func change(_ id: UInt32, _ change: (inout Stream) -> Void) {
        guard var stream = streams[id] else { return }
        change(&stream)
        streams[id] = stream
        if stream.isOver { open.removeAll { $0 == id } }
    }

    /// The payload without padding.
    private func unpadded(_ frame: Frame) throws -> [UInt8] {
        guard frame.flags & 8 != 0 else { return frame.payload }
        guard let count = frame.payload.first, frame.payload.count > count else { throw Violation("padding (§6.1)") }
        return Array(frame.payload.dropFirst().dropLast(Int(count)))
    }

    private mutating func data(_ frame: Frame) throws {
        guard let stream = streams[frame.stream] else { throw Violation("DATA on idle stream \(frame.stream) (§5.1)") }
        guard !stream.hasClientEnded else { throw Violation("DATA after END_STREAM (§5.1)") }
        let count = frame.payload.count
        guard count <= window, count <= stream.window || count == 0 else {
            throw Violation("\(count) bytes of DATA, windows \(window) and \(stream.window) (§6.9)")
        }
        window -= count
        change(frame.stream) { stream in
            stream.window -= count
            stream.hasClientEnded = frame.hasFirstFlag
        }
        bodyBytes += try unpadded(frame).count
    }

    private mutating func headers(_ frame: Frame) throws {
        guard frame.flags & 0x20 == 0 else { throw Violation("HEADERS with a priority (§5.3.2)") }
        guard frame.stream % 2 == 1, frame.stream > last else { throw Violation("stream \(frame.stream) (§5.1.1)") }
        guard !hasGoAway else { throw Violation("a stream after GOAWAY (§6.8)") }
        guard open.count < streamLimit else { throw Violation("stream \(open.count + 1) of \(streamLimit) (§5.1.2)") }
        last = frame.stream
        streams[frame.stream] = Stream(window: initialWindow)
        open.append(frame.stream)
        mostOpen = max(mostOpen, open.count)
        block = (frame.stream, try unpadded(frame), frame.hasFirstFlag)
        if frame.flags & 4 != 0 { try endBlock() }
    }

    private mutating func continuation(_ frame: Frame) throws {
        guard block != nil else { throw Violation("CONTINUATION of nothing (§6.10)") }
        block?.bytes += frame.payload
        if frame.flags & 4 != 0 { try endBlock() }
    }

    private mutating func endBlock() throws {
        guard let ended = block else { return }
        block = nil
        fields = try decoder.decode(ended.bytes)
        try check(fields)
        change(ended.stream) { $0.hasClientEnded = ended.ends }
        requests += 1
    }

    /// Names that are about a connection (§8.2.2).
    private static let forbidden: Set = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host", "te",
    ]
    /// Secrets: they shall not go into any table.
    private static let secret: Set = [":path", "authorization"]
    /// Values that change with each push: only the first one on a connection goes into the table, for its name.
    private static let indexedOnce: Set = ["apns-id", "apns-expiration", "apns-collapse-id"]

    private mutating func check(_ fields: [HPACKDecoder.Field]) throws {
        guard fields.prefix(4).map(\.name) == [":method", ":scheme", ":authority", ":path"],
            !fields.dropFirst(4).contains(where: { $0.name.hasPrefix(":") })
        else { throw Violation("pseudo fields: \(fields.map(\.name)) (§8.3.1)") }
        for field in fields {
            guard field.name == field.name.lowercased(), !field.name.isEmpty, !Self.forbidden.contains(field.name)
            else {
                throw Violation("field \(field.name) (§8.2)")
            }
            guard !field.value.contains(where: { "\0\r\n".contains($0) }), field.value.first != " ",
                field.value.last != " "
            else { throw Violation("value of \(field.name) (§8.2.1)") }
            let isLater = Self.indexedOnce.contains(field.name) && !named.insert(field.name).inserted
            guard (field.representation == .neverIndexed) == (isLater || Self.secret.contains(field.name)) else {
                throw Violation("\(field.name) is \(field.representation) (RFC 7541 §7.1.3)")
            }
        }
    }

    private mutating func reset(_ frame: Frame) throws {
        guard frame.payload.count == 4 else { throw Violation("RST_STREAM of \(frame.payload.count) bytes (§6.4)") }
        guard let stream = streams[frame.stream] else { throw Violation("RST_STREAM on an idle stream (§6.4)") }
        guard !stream.isOver || stream.isReset else { throw Violation("RST_STREAM on a closed stream (§5.1)") }
        change(frame.stream) { stream in
            stream.isReset = true
            // Nothing may come on it from now on.
            stream.hasClientEnded = true
        }
    }

    private mutating func settings(_ frame: Frame) throws {
        guard frame.stream == 0 else { throw Violation("SETTINGS on a stream (§6.5)") }
        if frame.hasFirstFlag {
            guard hasSettings, frame.payload.isEmpty, !unacknowledged.isEmpty else { throw Violation("ACK of nothing") }
            for (id, value) in unacknowledged.removeFirst() { apply(id, value) }
            // A SETTINGS frame without a limit lifts ours.
            if streamLimit == 1, !hasLimit { streamLimit = .max }
            return
        }
        guard !hasSettings else { throw Violation("the client changes its SETTINGS") }
        hasSettings = true
        guard frame.payload.count.isMultiple(of: 6) else { throw Violation("SETTINGS (§6.5)") }
        guard frame.payload.starts(with: [0, 2, 0, 0, 0, 0]) else { throw Violation("push is not forbidden") }
    }

    private var hasLimit = false

    private mutating func apply(_ id: UInt8, _ value: Int) {
        switch id {
        case 1: decoder.setLimit(value)
        case 3:
            hasLimit = true
            streamLimit = value
        case 4:
            for stream in streams.keys { streams[stream]?.window += value - initialWindow }
            initialWindow = value
        case 5: frameLimit = value
        default: break
        }
    }

    private mutating func ping(_ frame: Frame) throws {
        guard frame.stream == 0, frame.payload.count == 8 else { throw Violation("PING (§6.7)") }
        guard frame.hasFirstFlag else { return }
        guard !pings.isEmpty, pings.removeFirst() == frame.payload else { throw Violation("a wrong answer to PING") }
    }

    private mutating func goAway(_ frame: Frame) throws {
        guard frame.stream == 0, frame.payload.count >= 8 else { throw Violation("GOAWAY (§6.8)") }
        guard frame.payload[..<8].allSatisfy({ $0 == 0 }) else { throw Violation("GOAWAY \(frame.payload)") }
        hasGoAway = true
    }

    private func windowUpdate(_ frame: Frame) throws {
        guard frame.payload.count == 4 else { throw Violation("WINDOW_UPDATE of \(frame.payload.count) bytes (§6.9)") }
        let grant = frame.payload.reduce(0) { $0 << 8 | Int($1) }
        guard (1...0x7FFF_FFFF).contains(grant) else { throw Violation("WINDOW_UPDATE of \(grant) (§6.9)") }
        guard frame.stream == 0 || streams[frame.stream].map({ !$0.isReset }) == true else {
            throw Violation("WINDOW_UPDATE on stream \(frame.stream) (§5.1)")
        }
    }

    /// Nothing of the client's is left to come: every SETTINGS and every PING was answered.
    func checkEnd() throws {
        guard buffer.isEmpty, block == nil else { throw Violation("the client stopped amid a frame") }
        guard unacknowledged.isEmpty, pings.isEmpty else { throw Violation("SETTINGS or PING without an answer") }
    }
}
