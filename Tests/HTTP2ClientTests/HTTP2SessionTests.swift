import Testing

@testable import HTTP2Client

/// The session in memory, against frames written by hand.
struct HTTP2SessionTests {
    /// A session and what it wrote.
    final class Pair {
        let session: HTTP2Session
        private var parser = FrameParser()

        init(answerLimitBytes: Int = 1000) throws {
            session = try HTTP2Session(authority: "example.com", answerLimitBytes: answerLimitBytes)
        }

        func send(_ frames: Frame...) throws {
            let bytes = frames.flatMap(\.bytes)
            try unsafe bytes.withUnsafeBytes { try unsafe session.receive($0) }
        }

        /// The frames written since the last call.
        func written() throws -> [Frame] {
            var output = OutputBuffer()
            try session.produce(into: &output)
            while output.count > 0 {
                let record = unsafe output.withRecord { unsafe Array($0) }
                parser.append(record)
                output.consume(record.count)
            }
            var frames: [Frame] = []
            while let frame = parser.next() { frames.append(frame) }
            return frames
        }

        func closed() -> [HTTP2Session.Closed] {
            var closed: [HTTP2Session.Closed] = []
            session.swapClosed(&closed)
            return closed
        }

        func greet(maxStreams: UInt32 = 100) throws {
            _ = try written()
            try send(.settings(maxStreams: maxStreams))
            _ = session.takeEvents()
        }

        func submit(_ request: Request = .post("{}")) throws -> Int { try #require(try session.submit(request)) }
    }

    @Test func beginsWithSettingsThatForbidPush() throws {
        let pair = try Pair()
        let settings = try #require(try pair.written().first)
        #expect(settings.type == Frame.settings)
        #expect(settings.payload == [0, 2, 0, 0, 0, 0])
    }

    @Test func tellsTheStreamLimitOfEachSettings() throws {
        let pair = try Pair()
        try pair.send(.settings(maxStreams: 7))
        #expect(pair.session.takeEvents().streamLimit == 7)
        #expect(pair.session.takeEvents().streamLimit == nil)
        try pair.send(.settings(maxStreams: 1))
        #expect(pair.session.takeEvents().streamLimit == 1)
        #expect(try pair.written().filter { $0.type == Frame.settings && $0.hasFirstFlag }.count == 2)
    }

    @Test func settingsWithoutALimitMeanMany() throws {
        let pair = try Pair()
        try pair.send(.settings(maxStreams: nil))
        #expect(try #require(pair.session.takeEvents().streamLimit) > 1_000_000)
    }

    @Test func anAnswerComesBackWhole() throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit()
        let frames = try pair.written()
        #expect(frames.map(\.type).suffix(2) == [Frame.headers, Frame.data])
        #expect(frames.last?.payload == Array("{}".utf8))
        #expect(frames.last?.hasFirstFlag == true)
        try pair.send(.answer(1, status: 400, ends: false), .data(1, Array("no".utf8), ends: true))
        let closed = pair.closed()
        #expect(closed.map(\.slot) == [slot])
        #expect(closed.first?.code == 0)
        let stream = pair.session.take(slot)
        #expect(stream.isAnswered)
        #expect(stream.status == 400)
        #expect(stream.answer == Array("no".utf8))
    }

    @Test func anInterimAnswerIsNotTheAnswer() throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit()
        _ = try pair.written()
        try pair.send(.answer(1, status: 103, ends: false))
        #expect(!pair.session.stream(slot).isAnswered)
        try pair.send(.answer(1, status: 200))
        #expect(pair.closed().map(\.slot) == [slot])
        #expect(pair.session.take(slot).status == 200)
    }

    @Test func aLongBodyIsCutAndItsWindowGivenBack() throws {
        let pair = try Pair(answerLimitBytes: 10)
        try pair.greet()
        let slot = try pair.submit()
        _ = try pair.written()
        try pair.send(.answer(1, status: 200, ends: false))
        var grants = 0
        for _ in 0..<5 {
            try pair.send(.data(1, Array(repeating: 65, count: 16_000), ends: false))
            grants += try pair.written().filter { $0.type == Frame.windowUpdate && $0.stream == 1 }.count
        }
        try pair.send(.data(1, [], ends: true))
        #expect(pair.session.take(slot).answer.count == 10)
        #expect(grants > 0)
    }

    @Test func aBodyLargerThanTheWindowWaitsForIt() throws {
        let pair = try Pair()
        try pair.greet()
        _ = try pair.submit(.post(String(repeating: "x", count: 70_000)))
        let sent = try pair.written().filter { $0.type == Frame.data }.reduce(0) { $0 + $1.payload.count }
        #expect(sent == 65_535)
        let grant = Frame(type: Frame.windowUpdate, payload: [0, 1, 0, 0])
        try pair.send(grant, Frame(type: Frame.windowUpdate, stream: 1, payload: [0, 1, 0, 0]))
        let rest = try pair.written().filter { $0.type == Frame.data }
        #expect(rest.reduce(0) { $0 + $1.payload.count } == 70_000 - 65_535)
        #expect(rest.last?.hasFirstFlag == true)
    }

    @Test func aRefusedStreamSaysSo() throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit()
        _ = try pair.written()
        try pair.send(.reset(1, code: 7))
        let closed = pair.closed()
        #expect(closed.map(\.slot) == [slot])
        #expect(closed.first?.code == HTTP2Session.refusedStream)
    }

    @Test func goAwayRefusesTheStreamsAboveItsLast() throws {
        let pair = try Pair()
        try pair.greet()
        let slots = try (0..<3).map { _ in try pair.submit() }
        _ = try pair.written()
        try pair.send(.goAway(lastStream: 1, code: 0, debug: "{\"reason\":\"Shutdown\"}"))
        let goAway = try #require(pair.session.takeEvents().goAway)
        #expect(goAway.reason == "Shutdown" && goAway.error == "NO_ERROR" && goAway.lastStream == 1)
        let closed = pair.closed()
        #expect(Set(closed.map(\.slot)) == Set(slots[1...]))
        #expect(closed.allSatisfy { $0.code == HTTP2Session.refusedStream })
        try pair.send(.answer(1, status: 200))
        #expect(pair.session.take(slots[0]).isAnswered)
    }

    @Test func anAnswerBeforeTheBodyIsSentStillEndsTheStreamOnce() throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit(.post(String(repeating: "x", count: 70_000)))
        _ = try pair.written()
        try pair.send(.answer(1, status: 413), .reset(1, code: 0))
        #expect(pair.closed().map(\.slot) == [slot])
        #expect(pair.session.take(slot).isAnswered)
        _ = try pair.written()
        #expect(pair.closed().isEmpty)
    }

    @Test func aCancelledStreamClosesWhenItsResetIsWritten() throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit()
        _ = try pair.written()
        try pair.session.cancel(slot)
        let reset = try #require(try pair.written().last)
        #expect(reset.type == Frame.reset)
        #expect(reset.payload == [0, 0, 0, 8])
        #expect(pair.closed().map(\.slot) == [slot])
    }

    /// Of a request with a body that is the DATA frame with END_STREAM, of one without the HEADERS frame.
    @Test(arguments: [(Request.post("{}"), Frame.data), (.get, Frame.headers)])
    func knowsWhetherTheEndOfARequestWasWritten(request: Request, ending: UInt8) throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit(request)
        #expect(pair.session.stream(slot).endStart == nil)
        let before = pair.session.produced
        let frames = try pair.written()
        let earlier = frames.prefix { $0.type != ending }.reduce(0) { $0 + $1.bytes.count }
        #expect(pair.session.stream(slot).endStart == before + UInt64(earlier))
    }

    @Test func theEndOfABodyThatWaitsForTheWindowIsNotWritten() throws {
        let pair = try Pair()
        try pair.greet()
        let free = pair.session.freeWindowBytes
        let slot = try pair.submit(.post(String(repeating: "x", count: 70_000)))
        #expect(pair.session.freeWindowBytes == free - 70_000)
        let sent = try pair.written().reduce(0) { $0 + ($1.type == Frame.data ? $1.payload.count : 0) }
        #expect(sent == 65_535)
        #expect(pair.session.stream(slot).endStart == nil)
        #expect(pair.session.freeWindowBytes == free - 70_000)
        try pair.send(.windowUpdate(0, 10_000), .windowUpdate(1, 10_000))
        #expect(try pair.written().last?.hasFirstFlag == true)
        #expect(pair.session.stream(slot).endStart != nil)
        #expect(pair.session.freeWindowBytes == free + 10_000 - 70_000)
    }

    @Test func aPingIsAnsweredAndNoted() throws {
        let pair = try Pair()
        try pair.greet()
        try pair.session.submitPing()
        let ping = try #require(try pair.written().last)
        #expect(ping.type == Frame.ping)
        try pair.send(.pong(ping))
        #expect(pair.session.takeEvents().pong)
    }

    @Test func aPeerThatSpeaksHTTP1IsAViolation() throws {
        let pair = try Pair()
        _ = try pair.written()
        let bytes = Array("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".utf8)
        do {
            try unsafe bytes.withUnsafeBytes { try unsafe pair.session.receive($0) }
            _ = try pair.written()
            #expect(pair.session.isOver)
            #expect(pair.session.violation != nil)
        } catch {
            #expect((error as? TransportFailure)?.kind == .protocolError)
        }
    }

    /// The peer may send one as long as it has not acknowledged our SETTINGS, which forbid it.
    @Test func aPromisedRequestIsNotTakenForTheAnswer() throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit()
        _ = try pair.written()
        let path = [UInt8(ascii: "/")] + Array(repeating: UInt8(ascii: "9"), count: 40)
        let block: [UInt8] = [0x82, 0x87, 0x04, UInt8(path.count)] + path + [0x01, 1, 0x61]
        try pair.send(Frame(type: 5, flags: 4, stream: 1, payload: [0, 0, 0, 2] + block))
        try pair.send(.answer(1, status: 200))
        #expect(pair.closed().map(\.slot) == [slot])
        let stream = pair.session.take(slot)
        #expect(stream.status == 200)
        #expect(stream.headers.isEmpty)
    }

    @Test func aFieldThatIsPassedOverIsNoViolation() throws {
        let pair = try Pair()
        try pair.greet()
        _ = try pair.submit()
        _ = try pair.written()
        // A name in upper case makes the answer malformed (RFC 9113 §8.2): an error of the stream, not of the connection.
        let name = Array("Upper".utf8)
        let block: [UInt8] = [0x88, 0x00, UInt8(name.count)] + name + [1, 0x31]
        try pair.send(Frame(type: Frame.headers, flags: 5, stream: 1, payload: block))
        #expect(try pair.written().map(\.type) == [Frame.reset])
        #expect(pair.closed().count == 1)
        #expect(!pair.session.isOver)
        #expect(pair.session.violation == nil)
    }

    @Test func manyFieldsAreKeptUpToALimit() throws {
        let pair = try Pair()
        try pair.greet()
        let slot = try pair.submit()
        _ = try pair.written()
        // A name of one byte and no value costs four bytes on the wire, and ten times that in memory.
        let block = [0x88] + Array(repeating: [0x00, 1, 0x61, 0] as [UInt8], count: 4000).joined()
        try pair.send(Frame(type: Frame.headers, flags: 5, stream: 1, payload: block))
        #expect(pair.closed().count == 1)
        let stream = pair.session.take(slot)
        #expect(stream.isAnswered)
        #expect((400...512).contains(stream.headers.count))
    }

    @Test func fieldsThatMustNotBeIndexedAreNever() throws {
        let pair = try Pair()
        try pair.greet()
        let secret = HeaderField("x-secret", "abc", indexing: .never)
        let request = Request(method: "GET", path: "/p", headers: [secret], body: [], isUrgent: false)
        _ = try pair.submit(request)
        let block = try #require(try pair.written().last { $0.type == Frame.headers }).payload
        // RFC 7541 §6.2.3: 0001 in front, name index 4 for ":path", 0 for a new name.
        #expect(block.contains(0x14))
        #expect(block.contains(0x10))
        _ = try pair.submit(request)
        let again = try #require(try pair.written().last { $0.type == Frame.headers }).payload
        #expect(again.contains(0x14))
        #expect(again.contains(0x10))
    }

    /// What two pushes cost whose fields differ, the first of them being on the connection, and the second not.
    private static func blocks(_ indexing: HeaderField.Indexing, hasCollapseID: Bool) throws -> [[UInt8]] {
        let pair = try Pair()
        try pair.greet()
        return try (1...4).map { number in
            var fields = [
                HeaderField("authorization", "bearer abc", indexing: .never), HeaderField("apns-topic", "com.example"),
                HeaderField("apns-expiration", "190000000\(number)", indexing: indexing),
            ]
            if hasCollapseID { fields.append(HeaderField("apns-collapse-id", "news-\(number)", indexing: indexing)) }
            // Their own heads, as pushes of different messages have.
            let head = RequestHead(method: "POST", fields: fields)
            let id = HeaderField("apns-id", "00000000-0000-4000-8000-00000000000\(number)", indexing: indexing)
            _ = try pair.submit(
                Request(head: head, path: "/3/device/0\(number)", fields: [id], body: [], isUrgent: false))
            return try #require(try pair.written().last { $0.type == Frame.headers }).payload
        }
    }

    @Test(arguments: [(false, 15), (true, 25)])
    func ofFieldsThatDifferTheFirstIsIndexedForItsNameAlone(hasCollapseID: Bool, saved: Int) throws {
        let blocks = try Self.blocks(.first, hasCollapseID: hasCollapseID)
        let never = try Self.blocks(.never, hasCollapseID: hasCollapseID)
        for number in 1..<4 { #expect(never[number].count - blocks[number].count >= saved) }
        var decoder = HPACKDecoder()
        for (number, block) in blocks.enumerated() {
            let fields = try decoder.decode(block)
            for name in ["apns-id", "apns-expiration"] + (hasCollapseID ? ["apns-collapse-id"] : []) {
                let field = try #require(fields.first { $0.name == name })
                #expect(field.value.hasSuffix("\(number + 1)"))
                #expect(field.representation == (number == 0 ? .incremental : .neverIndexed), "\(name) \(number)")
            }
            #expect(fields.first { $0.name == "authorization" }?.representation == .neverIndexed)
        }
    }

    @Test func slotsAreUsedAgain() throws {
        let pair = try Pair()
        try pair.greet()
        for round in 0..<50 {
            let slot = try pair.submit()
            #expect(slot == 0)
            _ = try pair.written()
            try pair.send(.answer(UInt32(2 * round + 1), status: 200))
            #expect(pair.closed().count == 1)
            _ = pair.session.take(slot)
        }
    }
}
