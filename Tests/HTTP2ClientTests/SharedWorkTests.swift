import Testing

@testable import HTTP2Client

/// What requests share, and what they leave behind.
@Suite(.timeLimit(.minutes(5)))
struct SharedWorkTests {
    @Test func theFieldsOfAHeadComeBeforeThoseOfTheRequest() throws {
        let head = RequestHead(method: "POST", fields: [HeaderField("a", "1"), HeaderField("b", "", indexing: .never)])
        let request = Request(head: head, path: "/p", fields: [HeaderField("c", "3")], body: [], isUrgent: false)
        #expect(request.method == "POST")
        #expect(request.headers.map(\.name) == ["a", "b", "c"])
        #expect(request.headers.map(\.indexing) == [.always, .never, .always])
    }

    @Test func aHeadOutlivesItsRequestUntilTheHeadersAreWritten() throws {
        let pair = try HTTP2SessionTests.Pair()
        try pair.greet()
        // The head is gone but for the session's own hold on it.
        do {
            let secret = HeaderField("x-secret", String(repeating: "k", count: 3000), indexing: .never)
            _ = try pair.submit(Request(method: "GET", path: "/p", headers: [secret], body: [], isUrgent: false))
        }
        let noise = (0..<200).map { _ in [UInt8](repeating: 1, count: 3100) }
        let block = try #require(try withExtendedLifetime(noise) { try pair.written() }.last)
        #expect(block.type == Frame.headers)
        // Huffman: "k" is 1110101 (RFC 7541 appendix B); seven bytes hold eight of them.
        let repeated: [UInt8] = [0xeb, 0xd7, 0xaf, 0x5e, 0xbd, 0x7a, 0xf5]
        let windows = (0..<block.payload.count - 7).filter { Array(block.payload[$0..<$0 + 7]) == repeated }
        #expect(windows.count > 300)
    }

    @Test func onlyTheFieldsThatAreAskedForAreKept() throws {
        let session = try HTTP2Session(
            authority: "example.com", answerLimitBytes: 100, keptFields: ["retry-after"], slotLimit: 4)
        for (name, isKept) in [("retry-after", true), ("retry-afte", false), ("date", false)] {
            #expect(Self.keeps(name, session) == isKept, "\(name)")
        }
    }

    @Test func aSampledFieldIsKeptOfOneAnswerInEachRead() throws {
        let session = try HTTP2Session(
            authority: "example.com", answerLimitBytes: 100, keptFields: [], sampledFields: ["date"], slotLimit: 4)
        #expect(!Self.keeps("date", session))
        #expect(!Self.samples("server", of: 1, session))
        #expect(Self.samples("date", of: 3, session))
        #expect(Self.samples("date", of: 3, session))
        #expect(!Self.samples("date", of: 1, session))
        try unsafe session.receive(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(Self.samples("date", of: 1, session))
    }

    private static func samples(_ name: String, of stream: Int32, _ session: HTTP2Session) -> Bool {
        let bytes = Array(name.utf8)
        return unsafe bytes.withUnsafeBufferPointer { unsafe session.isSampled($0, of: stream) }
    }

    private static func keeps(_ name: String, _ session: HTTP2Session) -> Bool {
        let bytes = Array(name.utf8)
        return unsafe bytes.withUnsafeBufferPointer { unsafe session.isKept($0) }
    }
}

/// Pools on several loops, against nghttpd.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct SeveralLoopsTests {
    @Test func poolsOnTwoLoopsAnswerEachRequestOnceAndStayWithinTheirLimits() async throws {
        let server = try await Nghttpd(streams: 20)
        try await withEngine(loopCount: 2) { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.connectionLimit = 2
            let (first, second) = (try engine.openPool(configuration), try engine.openPool(configuration))
            async let some = first.exchange(Array(repeating: .post(), count: 5000))
            async let others = second.exchange(Array(repeating: .post(), count: 5000))
            for exchanges in await [some, others] {
                #expect(exchanges.count == 5000)
                #expect(exchanges.allSatisfy { $0.status == 200 })
            }
            for pool in [first, second] {
                #expect(pool.statistics.connections <= 2)
                #expect(pool.statistics.bytesSent > 5000)
            }
            await first.close(within: .seconds(1))
            #expect(await first.exchange([.get]).first?.notSent?.kind == .shutdown)
            #expect(await second.exchange([.get]).first?.status == 200)
        }
    }

    @Test func poolsTakeTheLoopsInTurnOrStandBesideTheLast() async throws {
        try await withEngine(loopCount: 2) { engine in
            func open(isBesideLast: Bool = false) throws -> Mailbox {
                var configuration = PoolConfiguration(host: "127.0.0.1", port: 1)
                configuration.isBesideLast = isBesideLast
                return try engine.openPool(configuration).mailbox
            }
            let first = try open()
            #expect(try open(isBesideLast: true) === first)
            let second = try open()
            #expect(second !== first)
            #expect(try open(isBesideLast: true) === second)
            #expect(try open() === first)
        }
    }

    @Test func aPoolWithLittleToDoHasOneConnection() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(.local(server.port, trust: server.tls))
            for _ in 0..<20 { #expect(await pool.exchange([.get]).first?.status == 200) }
            #expect(pool.statistics.dials == 1)
        }
    }
}
