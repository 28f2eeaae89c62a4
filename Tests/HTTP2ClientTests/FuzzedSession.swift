@testable import HTTP2Client

/// One session against a ``HostilePeer``, used as ``Connection`` uses it: no more streams than SETTINGS allow, none after
/// GOAWAY, each closed stream taken once.
struct FuzzedSession: ~Copyable {
    /// What a session may not do, whatever the peer does.
    struct Fault: Error {
        let what: String
    }

    /// What one input came to.
    struct Result {
        var receivedBytes = 0
        var answered = 0
        var isViolated = false
        var memoryBytes = 0
    }

    private static let slotLimit = 8
    private static let answerLimitBytes = 1000
    /// nghttp2's own limits (1000 frames of ours that wait, 64 KiB of header fields, 16 KiB of one frame) come to less.
    private static let memoryLimitBytes = 1 << 20

    private var peer: HostilePeer
    private let session: HTTP2Session
    private var open: [Int: UInt32] = [:]
    private var streamLimit = 1
    private var isGoingAway = false
    private var isOver = false
    private var output = OutputBuffer()
    private var closed: [HTTP2Session.Closed] = []
    private var result = Result()

    private init(seed: UInt64) throws {
        peer = HostilePeer(seed: seed)
        session = try HTTP2Session(
            authority: "example.com", answerLimitBytes: Self.answerLimitBytes,
            keptFields: seed.isMultiple(of: 2) ? ["retry-after"] : nil, slotLimit: Self.slotLimit)
    }

    /// Plays the input that `seed` stands for.
    static func run(seed: UInt64) throws -> Result {
        var fuzzed = try FuzzedSession(seed: seed)
        try fuzzed.play()
        return fuzzed.result
    }

    private mutating func play() throws {
        try produce()
        try receive(peer.greeting())
        for _ in 0..<4 + peer.below(16) where !isOver {
            try act()
            if !isOver { try receive(peer.next(for: open.values.sorted())) }
        }
        result.memoryBytes = session.memoryBytes
        if session.violation != nil { result.isViolated = true }
        if isOver {
            guard isGoingAway || result.isViolated else {
                throw Fault(what: "the session ended without a reason")
            }
        } else {
            try finish()
        }
    }

    /// What the connection does between two reads.
    private mutating func act() throws {
        // As long as the socket takes nothing, no stream is opened, and nothing more is asked of the session.
        let isBlocked = peer.oneIn(4)
        while !isBlocked, !isGoingAway, open.count < min(streamLimit, Self.slotLimit), !peer.oneIn(5) {
            guard let slot = try session.submit(peer.oneIn(3) ? .large : .small) else { break }
            guard open.updateValue(session.stream(slot).streamID, forKey: slot) == nil else {
                throw Fault(what: "slot \(slot) was given out twice")
            }
        }
        if peer.oneIn(12), let slot = open.keys.min() { try session.cancel(slot) }
        if peer.oneIn(12) { try session.submitPing() }
        if !isBlocked { try produce() }
    }

    private mutating func receive(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty, !isOver {
            let part = Array(rest.prefix(peer.oneIn(2) ? rest.count : 1 + peer.below(rest.count)))
            rest = rest.dropFirst(part.count)
            result.receivedBytes += part.count
            do {
                try unsafe part.withUnsafeBytes { try unsafe session.receive($0) }
            } catch {
                isOver = true
                result.isViolated = true
            }
            try digest()
        }
    }

    private mutating func produce() throws {
        do throws(TransportFailure) {
            try session.produce(into: &output)
        } catch {
            isOver = true
            result.isViolated = true
        }
        // A PING's answer is as long as the PING, and so on: a peer can't make us say much more than it said.
        guard output.count <= 100_000 + 4 * result.receivedBytes else {
            throw Fault(what: "\(output.count) bytes to say after \(result.receivedBytes)")
        }
        output.consume(output.count)
        try digest()
    }

    private mutating func digest() throws {
        let events = session.takeEvents()
        if let limit = events.streamLimit { streamLimit = limit }
        if events.goAway != nil { isGoingAway = true }
        session.swapClosed(&closed)
        for closed in closed { try settle(closed) }
        closed.removeAll(keepingCapacity: true)
        if session.isOver { isOver = true }
        guard session.memoryBytes <= Self.memoryLimitBytes else {
            throw Fault(what: "\(session.memoryBytes) bytes of memory")
        }
    }

    private mutating func settle(_ closed: HTTP2Session.Closed) throws {
        guard open.removeValue(forKey: closed.slot) != nil else {
            throw Fault(what: "slot \(closed.slot) closed though it was not open")
        }
        let stream = session.take(closed.slot)
        let headerBytes = stream.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard stream.answer.count <= Self.answerLimitBytes, headerBytes <= 16_384 else {
            throw Fault(what: "an answer of \(headerBytes) and \(stream.answer.count) bytes was kept")
        }
        guard (0...999).contains(stream.status), !stream.isAnswered || stream.status >= 200 else {
            throw Fault(what: "status \(stream.status)")
        }
        if stream.isAnswered { result.answered += 1 }
    }

    /// Whatever the peer did, a session that lives can end each stream.
    private mutating func finish() throws {
        try produce()
        for slot in open.keys.sorted() where !isOver { try session.cancel(slot) }
        if !isOver { try produce() }
        guard isOver || open.isEmpty else { throw Fault(what: "\(open.count) streams are stuck") }
        guard !isOver else { return }
        try session.submitGoAway()
        try produce()
    }
}

extension Request {
    fileprivate static let small = Request(
        method: "POST", path: "/3/device/00", headers: [HeaderField("apns-topic", "a")], body: [0x7B, 0x7D],
        isUrgent: false)
    fileprivate static let large = Request(
        method: "POST", path: "/3/device/01", headers: [HeaderField("authorization", "bearer x", indexing: .never)],
        body: Array(repeating: 0x78, count: 3000), isUrgent: false)
}

extension HTTP2Session.Stream {
    fileprivate var streamID: UInt32 { UInt32(bitPattern: id) }
}
