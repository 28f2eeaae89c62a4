@testable import HTTP2Client

/// A peer in memory: takes the client's frames, notes where they break the rules, and answers what the test decides.
final class MemoryPeer: Wire {
    /// A stream that the client opened and that is not done.
    struct OpenStream {
        let id: UInt32
        /// The request's body: the number of the push.
        var body: [UInt8] = []
        var isComplete = false
    }

    private(set) var open: [OpenStream] = []
    /// What the client did against the rules.
    private(set) var violations: [String] = []
    /// Pushes that were answered, by number, with the status.
    private(set) var answers: [Int: Int] = [:]
    /// PINGs that are not answered yet.
    private(set) var pings: [Frame] = []
    private(set) var isClosed = false
    private(set) var bytesSent: Int64 = 0
    /// The client has read everything up to our GOAWAY: from then on nothing new may come.
    private(set) var isGoAwayRead = false
    /// The last stream of our GOAWAY; what is beyond is not looked at.
    private var lastProcessed: UInt32?
    /// The client has bytes that the network did not take: they may be older than what it read meanwhile.
    private var isBehind = false
    private var hasProof = false
    private var isGone = false
    private var inbound: [UInt8] = []
    private var parser = FrameParser()
    private var lastStream: UInt32 = 0
    /// Limits that were sent and that the client has not acknowledged, in order, and the one that holds.
    private var announced: [Int] = []
    private var limit = 1
    private var hasAnnounced = false
    private var owesAcknowledgement = false
    /// Bytes that the network still takes.
    var room = Int.max
    /// The way is cut without a sign: bytes are taken, and nothing comes of them.
    var isSilent = false
    /// Whether what came is given back to the client's window for the whole connection.
    var returnsWindow = true
    /// Streams that were opened since the beginning, and bytes of bodies that came.
    private(set) var (opened, bodyBytes) = (0, 0)

    var hasInput: Bool { !isSilent && (!inbound.isEmpty || isGone) }

    // MARK: What the test decides

    func send(_ frames: Frame...) {
        guard !isGone, !isClosed else { return }
        for frame in frames { inbound += frame.bytes }
    }

    /// - Parameter window: INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2); `nil`: left as it is.
    func announce(limit: Int, window: UInt32? = nil) {
        announced.append(limit)
        var settings = Frame.settings(maxStreams: UInt32(limit))
        if let window {
            settings.payload += Frame.windowUpdate(0, window).payload.reduce(into: [0, 4]) { $0.append($1) }
        }
        send(settings)
        hasAnnounced = true
        if owesAcknowledgement { send(.settingsAcknowledged) }
        owesAcknowledgement = false
    }

    /// Answers the open stream at `index`, whose request is complete. By the pool's default anything but 403 is proof.
    func answer(at index: Int, status: Int) {
        let stream = open.remove(at: index)
        if let number = Int(String(decoding: stream.body, as: UTF8.self)) { answers[number] = status }
        hasProof = hasProof || status != 403
        send(.answer(stream.id, status: status))
    }

    func reset(at index: Int, code: UInt32) {
        send(.reset(open.remove(at: index).id, code: code))
    }

    /// GOAWAY: streams from `index` on are not processed.
    func goAway(processed index: Int, code: UInt32) {
        var last = index > 0 ? open[index - 1].id : open.first.map { $0.id > 1 ? $0.id - 2 : 0 } ?? lastStream
        // A second one never allows more (RFC 9113 §6.8).
        last = min(last, lastProcessed ?? last)
        open.removeSubrange(index...)
        lastProcessed = last
        send(.goAway(lastStream: last, code: code, debug: "{\"reason\":\"Shutdown\"}"))
    }

    func answerPings() {
        for ping in pings { send(.pong(ping)) }
        pings = []
    }

    /// The connection is lost.
    func drop() { isGone = true }

    // MARK: The client's side

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        guard hasInput else { return .wantsRead }
        guard !inbound.isEmpty else { return .ended }
        let count = min(inbound.count, buffer.count)
        unsafe buffer.copyBytes(from: inbound[..<count])
        inbound.removeFirst(count)
        if inbound.isEmpty { isGoAwayRead = lastProcessed != nil && !isBehind }
        return .done(count)
    }

    func write(_ output: borrowing OutputBuffer) -> IOResult {
        guard !isSilent else { return .done(min(output.count, OutputBuffer.recordBytes)) }
        guard !isGone else { return .failed(TransportFailure(.connectionLost, "gone")) }
        guard room > 0 else {
            isBehind = true
            return .wantsWrite
        }
        let bytes = unsafe output.withRecord { unsafe Array($0.prefix(room)) }
        if room < .max { room -= bytes.count }
        isBehind = output.count > bytes.count
        bytesSent += Int64(bytes.count)
        parser.append(bytes)
        while let frame = parser.next() { take(frame) }
        return .done(bytes.count)
    }

    func noteReadable() {}
    func awaitRoom(_ isWanted: Bool) {}
    func close() { isClosed = true }

    private func take(_ frame: Frame) {
        switch frame.type {
        case Frame.settings where frame.hasFirstFlag: limit = announced.isEmpty ? limit : announced.removeFirst()
        // The first frame of a peer is its own SETTINGS (RFC 9113 §3.4).
        case Frame.settings where hasAnnounced: send(.settingsAcknowledged)
        case Frame.settings: owesAcknowledgement = true
        case Frame.headers: begin(frame.stream, isComplete: frame.hasFirstFlag)
        case Frame.data:
            bodyBytes += frame.payload.count
            if returnsWindow, !frame.payload.isEmpty { send(.windowUpdate(0, UInt32(frame.payload.count))) }
            guard let index = open.firstIndex(where: { $0.id == frame.stream }) else { return }
            open[index].body += frame.payload
            open[index].isComplete = frame.hasFirstFlag
        case Frame.reset: open.removeAll { $0.id == frame.stream }
        case Frame.ping where !frame.hasFirstFlag: pings.append(frame)
        default: break
        }
    }

    private func begin(_ stream: UInt32, isComplete: Bool) {
        if let lastProcessed, stream > lastProcessed, !isGoAwayRead { return }
        if open.count >= limit { violations.append("stream \(stream) beyond the limit of \(limit)") }
        if !hasProof, !open.isEmpty { violations.append("stream \(stream) before the first proven answer") }
        if isGoAwayRead { violations.append("stream \(stream) after GOAWAY") }
        if !pings.isEmpty { violations.append("stream \(stream) while a PING is out") }
        if stream <= lastStream { violations.append("stream \(stream) is not a new one") }
        lastStream = stream
        opened += 1
        open.append(OpenStream(id: stream, isComplete: isComplete))
    }
}
