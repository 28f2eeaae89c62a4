import Testing

@testable import HTTP2Client

/// The first answer on a connection, under a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct WarmingTests {
    private func life() throws -> PoolLife {
        try PoolLife { $0.warmingTimeout = .seconds(4) }
    }

    /// Lets time pass until there are so many dials; whether it took less than ten seconds.
    private func waitForDials(_ count: Int, _ life: PoolLife) -> Bool {
        for _ in 0..<100 where life.dials.count < count { life.pass(.milliseconds(100)) }
        return life.dials.count == count
    }

    @Test func aFirstRequestWithoutAnswerHoldsUpNoOthers() throws {
        let life = try life()
        let ends = life.submit([.post(), .post(), .post()])
        let dead = life.connect(0, limit: 10)
        #expect(dead.open.count == 1)
        life.pass(.milliseconds(3900))
        #expect(life.statistics.failedDials == 0)
        life.pass(.milliseconds(100))
        #expect(life.statistics.failedDials == 1)
        try #require(waitForDials(2, life))
        let good = life.prove(1, limit: 10)
        life.answerAll(good)
        #expect(ends.count == 2)
        // Its own time is not over: the late answer counts, and the connection ends with it.
        #expect(!dead.isClosed)
        life.answerAll(dead)
        #expect(ends.all.map(\.status) == [200, 200, 200])
        #expect(dead.isClosed)
        #expect(life.statistics.dials == 2)
        #expect(life.statistics.circuit == .closed)
    }

    @Test func aPeerThatAllowsNoStreamIsGivenUp() throws {
        let life = try life()
        let ends = life.submit([.post()])
        let shut = life.connect(0, limit: 0)
        #expect(shut.open.isEmpty)
        life.pass(.seconds(4))
        try #require(waitForDials(2, life))
        life.prove(1, limit: 10)
        #expect(ends[0]?.status == 200)
        #expect(life.statistics.failedDials == 1)
    }
}
