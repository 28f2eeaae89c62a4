import Testing

@testable import HTTP2Client

/// What the session sends, held to the letter of RFC 9113 by a ``StrictReader``, in many situations.
///
/// Serialized, like others that only compute: beside them run tests that wait for deadlines.
@Suite(.serialized) struct ClientConductTests {
    /// What the server does beside answering.
    struct Situation: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Values to choose from, in the first SETTINGS and in each change.
        var streams: [UInt32] = [100]
        var tables: [UInt32] = []
        var windows: [UInt32] = []
        var frames: [UInt32] = []
        /// One in so many turns; 0: never.
        var change = 0
        var reset = 0
        var cancel = 0
        var ping = 0
        var padding = false
        var bodyBytes = [0, 20, 5000]
    }

    /// Both ends in memory.
    private struct Rig: ~Copyable {
        let session: HTTP2Session
        var reader = StrictReader()
        var random: SplitMix
        let situation: Situation
        var streamLimit = 1
        var open: Set<Int> = []
        var ended = 0

        init(_ situation: Situation, seed: UInt64) throws {
            session = try HTTP2Session(authority: "example.com", answerLimitBytes: 1000, slotLimit: 200)
            random = SplitMix(state: seed)
            self.situation = situation
        }

        mutating func oneIn(_ count: Int) -> Bool { count > 0 && Int.random(in: 0..<count, using: &random) == 0 }

        mutating func send(_ frames: Frame...) throws {
            for frame in frames {
                reader.sends(frame)
                let bytes = frame.bytes
                try unsafe bytes.withUnsafeBytes { try unsafe session.receive($0) }
                digest()
            }
        }

        mutating func pump() throws {
            var output = OutputBuffer()
            try session.produce(into: &output)
            while output.count > 0 {
                let record = unsafe output.withRecord { unsafe Array($0) }
                try reader.receive(record)
                output.consume(record.count)
            }
            digest()
        }

        mutating func digest() {
            if let limit = session.takeEvents().streamLimit { streamLimit = limit }
            var closed: [HTTP2Session.Closed] = []
            session.swapClosed(&closed)
            for closed in closed {
                _ = session.take(closed.slot)
                open.remove(closed.slot)
                ended += 1
            }
        }

        mutating func submit() throws {
            let count = situation.bodyBytes.randomElement(using: &random) ?? 0
            var request = Request.push(ended)
            request.body = Array(repeating: 0x20, count: count)
            open.insert(try #require(try session.submit(request)))
        }

        mutating func settings() -> Frame {
            var payload: [UInt8] = []
            let choices: [(UInt8, [UInt32])] = [
                (1, situation.tables), (3, situation.streams), (4, situation.windows), (5, situation.frames),
            ]
            for (id, values) in choices {
                guard let value = values.randomElement(using: &random) else { continue }
                payload += [0, id] + Frame.windowUpdate(0, value).payload
            }
            return Frame(type: Frame.settings, payload: payload)
        }

        /// One thing that the server does.
        mutating func serve() throws {
            if oneIn(situation.change) { try send(settings()) }
            if oneIn(situation.ping) {
                let payload = (0..<8).map { _ in UInt8.random(in: 0...255, using: &random) }
                try send(Frame(type: Frame.ping, payload: payload))
            }
            if oneIn(situation.reset), let stream = reader.open.randomElement(using: &random) {
                return try send(.reset(stream, code: [0, 2, 7, 8].randomElement(using: &random) ?? 0))
            }
            // Small grants to the streams whose bodies wait, and to all together.
            for stream in Set(reader.open).subtracting(reader.answerable) { try send(.windowUpdate(stream, 700)) }
            try send(.windowUpdate(0, 3000))
            guard let stream = reader.answerable.randomElement(using: &random) else { return }
            var answer = Frame.answer(stream, status: 400, ends: false)
            if situation.padding {
                answer.flags |= 8
                answer.payload = [9] + answer.payload + Array(repeating: 0, count: 9)
            }
            let body = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
            try send(answer, .data(stream, body, ends: true))
        }
    }

    private static let situations: [Situation] = [
        Situation(testDescription: "plain"),
        Situation(testDescription: "one stream", streams: [1]),
        Situation(testDescription: "windows of a byte", windows: [1], bodyBytes: [0, 5, 1500]),
        Situation(testDescription: "no HPACK table", tables: [0]),
        Situation(testDescription: "the HPACK table flaps", tables: [0, 50, 300, 4096, 65_536], change: 3),
        Situation(testDescription: "larger frames", windows: [1_000_000], frames: [100_000], bodyBytes: [50_000]),
        Situation(
            testDescription: "everything flaps", streams: [0, 1, 3, 100], tables: [0, 4096], windows: [1, 100, 65_535],
            frames: [16_384, 20_000], change: 4, ping: 5),
        Situation(testDescription: "padded answers", padding: true),
        Situation(testDescription: "resets", reset: 5),
        Situation(testDescription: "cancellations", windows: [100], cancel: 4),
        Situation(
            testDescription: "all at once", streams: [0, 1, 3, 100], tables: [0, 4096], windows: [1, 100, 65_535],
            frames: [16_384, 20_000], change: 6, reset: 9, cancel: 9, ping: 5, padding: true),
    ]

    @Test(arguments: situations, 1...2) func obeysTheLetterOfHTTP2(situation: Situation, seed: UInt64) throws {
        var rig = try Rig(situation, seed: seed)
        try rig.pump()
        try rig.send(rig.settings(), .settingsAcknowledged)
        let wanted = 100
        var turns = 0
        while rig.ended < wanted {
            turns += 1
            try #require(turns < 100_000, "no progress: \(rig.ended) of \(wanted)")
            while rig.open.count < min(rig.streamLimit, 200), rig.open.count + rig.ended < wanted, !rig.oneIn(4) {
                try rig.submit()
            }
            try rig.pump()
            if rig.oneIn(situation.cancel), let slot = rig.open.min() {
                try rig.session.cancel(slot)
                try rig.pump()
            }
            // A limit of 0 would last for ever if nothing changed it.
            if rig.streamLimit == 0, rig.open.isEmpty { try rig.send(rig.settings()) }
            try rig.serve()
            try rig.pump()
        }
        try rig.session.submitGoAway()
        try rig.pump()
        try rig.reader.checkEnd()
        #expect(rig.reader.hasGoAway)
        #expect(rig.reader.requests + (situation.cancel > 0 ? wanted : 0) >= wanted)
        #expect(rig.session.violation == nil)
        if situation.frames == [100_000] { #expect(rig.reader.largestFrame >= 16_384) }
        if situation.streams == [1] { #expect(rig.reader.mostOpen == 1) }
        if situation.testDescription == "plain" { #expect(rig.reader.mostOpen > 50) }
    }

    /// The reader itself must be able to complain.
    @Test(arguments: [
        ("no preface", Frame.settings(maxStreams: 1).bytes + Frame.preface),
        ("DATA first", Frame.preface + Frame.data(1, [], ends: true).bytes),
        ("an idle stream", opening + Frame.data(1, [1], ends: true).bytes),
        ("an even stream", opening + Frame.answer(2, status: 200).bytes),
        ("no request", opening + Frame.answer(1, status: 200).bytes),
        ("PRIORITY", opening + Frame(type: 2, stream: 1, payload: [0, 0, 0, 0, 1]).bytes),
        ("ACK of nothing", opening + Frame.settingsAcknowledged.bytes),
        ("PONG of nothing", opening + Frame(type: 6, flags: 1, payload: Array(repeating: 0, count: 8)).bytes),
        ("RST_STREAM idle", opening + Frame.reset(1, code: 8).bytes),
        ("a grant of 0", opening + Frame.windowUpdate(0, 0).bytes),
        ("a long frame", opening + Frame(type: 6, payload: Array(repeating: 0, count: 20_000)).bytes),
        ("CONTINUATION", opening + Frame(type: 9, flags: 4, stream: 1).bytes),
        ("GOAWAY with a code", opening + Frame.goAway(lastStream: 0, code: 1).bytes),
        ("two streams before SETTINGS", opening + request(1) + request(3)),
        ("the path is not never-indexed", opening + request(1, path: 0x04)),
        ("a stream twice", opening + request(1) + request(1)),
        ("DATA after the end", opening + request(1) + Frame.data(1, [1], ends: true).bytes),
    ]) func theReaderComplains(what: String, bytes: [UInt8]) {
        #expect(throws: Violation.self, "\(what)") {
            var reader = StrictReader()
            try reader.receive(bytes)
        }
    }

    private static let opening = Frame.preface + Frame(type: Frame.settings, payload: [0, 2, 0, 0, 0, 0]).bytes

    private static func request(_ stream: UInt32, path: UInt8 = 0x14) -> [UInt8] {
        // :method GET, :scheme https, :authority "a", :path "/"
        Frame(type: Frame.headers, flags: 5, stream: stream, payload: [0x82, 0x87, 0x01, 1, 0x61, path, 1, 0x2F]).bytes
    }

    @Test func theReaderTakesWhatIsRight() throws {
        var reader = StrictReader()
        try reader.receive(Self.opening + Self.request(1))
        #expect(reader.requests == 1)
        #expect(reader.fields.map(\.value) == ["GET", "https", "a", "/"])
    }
}
