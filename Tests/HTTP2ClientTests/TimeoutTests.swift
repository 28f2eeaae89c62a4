import Testing

@testable import HTTP2Client

/// Requests whose time is over, under a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct TimeoutTests {
    /// A pool with one connection, which is proven and has `limit` streams.
    private func provenPeer(
        limit: Int = 10, _ adjust: (inout PoolConfiguration) -> Void
    ) throws -> (PoolLife, MemoryPeer) {
        let life = try PoolLife(adjust)
        let first = life.submit([.post()])
        let peer = life.prove(0, limit: limit)
        #expect(first[0]?.status == 200)
        return (life, peer)
    }

    @Test func aStreamThatIsNeverAnsweredTimesOut() throws {
        let (life, peer) = try provenPeer { $0.streamTimeout = .seconds(3) }
        let ends = life.submit([.post()])
        life.pass(.milliseconds(2900))
        #expect(ends.count == 0 && peer.open.count == 1)
        life.pass(.milliseconds(100))
        #expect(ends[0]?.unanswered?.kind == .timedOut)
        // It was reset, and the connection goes on.
        #expect(peer.open.isEmpty)
        let next = life.submit([.post()])
        life.answerAll(peer)
        #expect(next[0]?.status == 200)
        #expect(life.dials.count == 1)
    }

    @Test func severalTimeoutsReplaceTheConnection() throws {
        let (life, _) = try provenPeer { $0.streamTimeout = .seconds(3) }
        let dead = life.submit([.post(), .post(), .post()])
        life.pass(.seconds(3))
        #expect(dead.count == 3)
        #expect(dead.all.allSatisfy { $0.unanswered?.kind == .timedOut })
        let next = life.submit([.post()])
        for _ in 0..<100 where life.dials.count < 2 { life.pass(.milliseconds(100)) }
        try #require(life.dials.count == 2)
        life.prove(1, limit: 10)
        #expect(next[0]?.status == 200)
    }

    @Test func aRequestThatWaitsTooLongForAStreamWasNotSent() throws {
        let (life, peer) = try provenPeer(limit: 1) { $0.queueTimeout = .seconds(2) }
        let running = life.submit([.post()])
        let waiting = life.submit([.post()])
        life.pass(.milliseconds(1900))
        #expect(waiting.count == 0)
        life.pass(.milliseconds(100))
        #expect(waiting[0]?.notSent?.kind == .timedOut)
        life.answerAll(peer)
        #expect(running[0]?.status == 200)
    }
}
