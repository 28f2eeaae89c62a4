import Testing

@testable import HTTP2Client

/// Bodies that wait for the peer's windows (RFC 9113 §5.2), under a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct FlowControlTests {
    private func withProvenPeer(
        limit: Int = 100, window: UInt32? = nil, adjust: (inout PoolConfiguration) -> Void = { _ in },
        _ body: (PoolLife, MemoryPeer) throws -> Void
    ) throws {
        let life = try PoolLife {
            $0.connectionLimit = 1
            adjust(&$0)
        }
        let first = life.submit([.get])
        let peer = life.prove(0, limit: limit, window: window)
        #expect(first[0]?.status == 200)
        try body(life, peer)
        #expect(peer.violations.isEmpty, "\(peer.violations)")
    }

    private static func posts(_ count: Int, bytes: Int, isUrgent: Bool = false) -> [Request] {
        Array(repeating: .post(String(repeating: "x", count: bytes), isUrgent: isUrgent), count: count)
    }

    enum End: CaseIterable, Sendable {
        case lost, reset, silent
    }

    /// The HEADERS of 100 requests leave with the first KB of their bodies, and no body's end.
    @Test(arguments: End.allCases)
    func whatHasNotLeftInFullIsNotSent(end: End) throws {
        try withProvenPeer(limit: 112, window: 1024) { life, peer in
            // So that nothing but the streams' own windows holds the bodies back.
            peer.send(.windowUpdate(0, 1 << 20))
            life.pump()
            let ends = life.submit(Self.posts(100, bytes: 1100))
            #expect(peer.opened == 101)
            #expect(peer.bodyBytes == 100 * 1024)
            #expect(!peer.open.contains { $0.isComplete })
            switch end {
            case .lost: peer.drop()
            case .reset: while !peer.open.isEmpty { peer.reset(at: 0, code: 2) }
            case .silent: peer.isSilent = true
            }
            life.pump()
            if end == .silent { life.pass(.seconds(31), inStepsOf: .seconds(1)) }
            #expect(ends.count == 100)
            #expect(ends.all.allSatisfy { $0.notSent != nil })
        }
    }

    /// Such answers are none of the timeouts that replace a connection.
    @Test func anAnswerBeforeTheBodyIsOutCountsWhenTheTimeIsUp() throws {
        try withProvenPeer(window: 0, adjust: { $0.streamTimeout = .seconds(2) }) { life, peer in
            for _ in 0..<ConnectionState.timeoutLimit {
                let ends = life.submit([.post()])
                peer.answerPings()
                life.pump()
                let index = try #require(peer.open.firstIndex { !$0.isComplete })
                peer.answer(at: index, status: 410)
                life.pump()
                #expect(ends.count == 0)
                life.pass(.seconds(3), inStepsOf: .seconds(1))
                #expect(ends.all.map(\.status) == [410])
            }
            let next = life.submit([.get])
            life.answerAll(peer)
            #expect(next[0]?.status == 200)
            #expect(life.dials.count == 1)
        }
    }

    @Test func whoseEndHasLeftIsUnanswered() throws {
        try withProvenPeer(limit: 112, window: 1024) { life, peer in
            let ends = life.submit(Self.posts(10, bytes: 1024) + [.get])
            #expect(peer.open.count { $0.isComplete } == 11)
            peer.drop()
            life.pump()
            #expect(ends.count == 11)
            #expect(ends.all.allSatisfy { $0.unanswered != nil })
        }
    }

    @Test func noMoreStreamsAreOpenedThanThePeersWindowHasRoomFor() throws {
        try withProvenPeer { life, peer in
            peer.returnsWindow = false
            let ends = life.submit(Self.posts(80, bytes: 4000))
            // Of 65,535 bytes 4,096 are kept for urgent requests.
            let admitted = (65_535 - 4096) / 4000
            #expect(peer.open.count == admitted)
            #expect(peer.open.allSatisfy { $0.isComplete })
            #expect(life.statistics.streamsInUse == admitted)
            // An urgent one still has room, for body and all.
            let urgent = life.submit(Self.posts(1, bytes: 4000, isUrgent: true))
            #expect(peer.open.count == admitted + 1)
            #expect(peer.open.last?.isComplete == true)
            peer.answer(at: admitted, status: 200)
            life.pump()
            #expect(urgent[0]?.status == 200)
            // As much as came is given back, and more go.
            peer.send(.windowUpdate(0, UInt32(peer.bodyBytes)))
            life.pump()
            #expect(peer.open.count == 2 * admitted)
            peer.returnsWindow = true
            life.pass(.seconds(1), inStepsOf: .milliseconds(100)) {
                peer.send(.windowUpdate(0, 40_000))
                life.answerAll(peer)
            }
            #expect(ends.count == 80)
            #expect(ends.all.allSatisfy { $0.status == 200 })
        }
    }

    /// A window that is full is no free stream: what waits gets another connection.
    @Test func aFullWindowIsAReasonToDial() throws {
        try withProvenPeer(adjust: { $0.connectionLimit = 2 }) { life, peer in
            peer.returnsWindow = false
            let ends = life.submit(Self.posts(20, bytes: 4000))
            #expect(life.dials.count == 2)
            let second = life.prove(1, limit: 100)
            life.answerAll(second)
            life.answerAll(peer)
            #expect(ends.all.allSatisfy { $0.status == 200 })
            #expect(ends.count == 20)
        }
    }

    /// A peer that never opens its window gets one request at a time, and is given up when these time out.
    @Test func aWindowThatStaysFullHoldsOneRequestAtATime() throws {
        try withProvenPeer { life, peer in
            peer.returnsWindow = false
            _ = life.submit(Self.posts(15, bytes: 4000))
            _ = life.submit(Self.posts(1, bytes: 4000, isUrgent: true))
            life.answerAll(peer)
            let ends = life.submit(Self.posts(3, bytes: 4000))
            #expect(peer.open.count == 1)
            #expect(!peer.open[0].isComplete)
            life.pass(.seconds(31), inStepsOf: .seconds(1)) { peer.answerPings() }
            #expect(ends.all.allSatisfy { $0.notSent != nil })
            #expect(ends.count == 3)
        }
    }
}
