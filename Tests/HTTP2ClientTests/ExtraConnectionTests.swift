import Testing

@testable import HTTP2Client

/// Bulk beside urgent requests, under a clock that the test moves: how much of the connections it keeps.
@Suite(.timeLimit(.minutes(5)))
struct ExtraConnectionTests {
    private static let connections = 4
    private static let streams = 20
    /// In milliseconds, as everything here.
    private static let roundTrip = 50

    /// A pool of which each connection's peer answers after the round trip.
    private final class Load {
        let life: PoolLife
        private var arrivals: [[UInt32: Int]] = []
        private(set) var bulk: [PoolLife.Ends] = []
        private(set) var urgent: [PoolLife.Ends] = []
        private var time = 0

        init() throws {
            life = try PoolLife {
                $0.connectionLimit = connections
                $0.queueTimeout = .seconds(600)
                $0.pingInterval = .zero
            }
        }

        var bulkEnds: Int { bulk.reduce(0) { $0 + $1.count } }

        /// - Parameter interval: between urgent requests; `nil`: none come.
        func run(milliseconds: Int, urgentEvery interval: Int?) {
            for _ in 0..<milliseconds {
                time += 1
                if time % 200 == 1 { bulk.append(life.submit(Array(repeating: .post(), count: 500))) }
                if let interval, time % interval == 0 { urgent.append(life.submit([.post(isUrgent: true)])) }
                life.pass(.milliseconds(1))
                for number in life.dials.indices { serve(number) }
                life.pump()
            }
        }

        private func serve(_ number: Int) {
            guard life.dials[number].connection != nil else { return }
            guard let peer = life.dials[number].peer else {
                // A dial takes a round trip, too.
                let age = life.now.elapsed(since: life.dials[number].time)
                if age >= Int64(roundTrip) * 1_000_000 { life.connect(number, limit: streams) }
                return
            }
            while arrivals.count <= number { arrivals.append([:]) }
            for stream in peer.open where arrivals[number][stream.id] == nil { arrivals[number][stream.id] = time }
            while let index = peer.open.firstIndex(where: { isDue($0, number) }) { peer.answer(at: index, status: 200) }
        }

        private func isDue(_ stream: MemoryPeer.OpenStream, _ number: Int) -> Bool {
            guard stream.isComplete, let arrival = arrivals[number][stream.id] else { return false }
            return time - arrival >= roundTrip
        }
    }

    @Test func aBroadcastKeepsItsStreamsBesideFiftyUrgentRequestsASecond() throws {
        let load = try Load()
        load.run(milliseconds: 2000, urgentEvery: 20)
        let before = load.bulkEnds
        load.run(milliseconds: 3000, urgentEvery: 20)
        let rate = Double(load.bulkEnds - before) / 3
        let bound = Double(Self.connections * Self.streams) / (Double(Self.roundTrip) / 1000)
        #expect(rate >= 0.9 * bound, "\(rate) of \(bound)")
        #expect(load.life.core.connections.count == Self.connections + 1)
        #expect(load.life.dials.count == Self.connections + 1)
        #expect(load.urgent.dropLast(3).allSatisfy { $0[0]?.status == 200 })
    }

    @Test func theExtraConnectionGoesFiveMinutesAfterTheLastUrgentRequest() throws {
        let load = try Load()
        // The budget has four dials at once, and the next one after a second or two.
        load.run(milliseconds: 3000, urgentEvery: 20)
        #expect(load.life.core.connections.count == Self.connections + 1)
        // What is queued ends, and nothing more comes.
        while load.bulkEnds < load.bulk.count * 500 {
            load.life.pass(.milliseconds(50))
            answerAll(load.life)
        }
        load.life.pass(.seconds(290), inStepsOf: .seconds(10))
        #expect(load.life.core.connections.count == Self.connections + 1)
        load.life.pass(.seconds(20), inStepsOf: .seconds(1))
        #expect(load.life.core.connections.count == Self.connections)
        #expect(load.life.statistics.failedDials == 0)
    }

    private func answerAll(_ life: PoolLife) {
        for dial in life.dials { if let peer = dial.peer { life.answerAll(peer) } }
    }

    @Test func withoutUrgentRequestsThereIsNoExtraConnection() throws {
        let load = try Load()
        load.run(milliseconds: 1000, urgentEvery: nil)
        #expect(load.life.dials.count == Self.connections)
    }
}

/// What the pools of one endpoint share.
@Suite(.timeLimit(.minutes(5)))
struct EndpointDialBudgetTests {
    /// Each pool has all its connections at once; what comes after is one dial for both at a time.
    @Test func thePoolsOfAnEndpointShareItsBudget() throws {
        let budget = EndpointDialBudget(interval: .seconds(1))
        let lives = try [1, 2].map { seed in
            try PoolLife(seed: seed, budget: budget) {
                $0.connectionLimit = 4
                $0.queueTimeout = .seconds(600)
            }
        }
        for life in lives { _ = life.submit(Array(repeating: .post(), count: 10_000)) }
        // Each connection proves itself and is lost at once: no failure, so nothing but the budget holds the dials back.
        for _ in 0..<600 {
            for life in lives {
                life.pass(.milliseconds(100))
                for number in life.dials.indices where life.dials[number].peer == nil {
                    life.prove(number, limit: 10).drop()
                    life.pump()
                }
            }
        }
        let dials = lives.map(\.dials.count)
        // The bursts, then one every 1 to 1.5 s.
        #expect((8 + 36...8 + 62).contains(dials.reduce(0, +)), "\(dials)")
        #expect(dials.allSatisfy { $0 >= 4 })
    }

    @Test func aPoolThatEndsTakesItsBurstWithIt() throws {
        let budget = EndpointDialBudget(interval: .seconds(1000))
        budget.widen(by: 4)
        budget.widen(by: 4)
        budget.widen(by: -4)
        var random = SplitMix(state: 1)
        let taken = budget.take(upTo: 10, at: Instant(nanoseconds: 0), using: &random)
        #expect(taken == 4)
        #expect(budget.heldUntil != nil)
    }

    @Test func theEngineHasOneBudgetForEachEndpoint() async throws {
        try await withEngine { engine in
            let one = PoolConfiguration(host: "127.0.0.1", port: 1)
            var same = one
            same.connectionLimit = 7
            let other = PoolConfiguration(host: "127.0.0.1", port: 2)
            #expect(engine.budget(for: one) === engine.budget(for: same))
            #expect(engine.budget(for: one) !== engine.budget(for: other))
        }
    }

    /// Dials fail; then each connection answers, and is lost a second later.
    @Test(arguments: [(Duration.seconds(1), false), (.seconds(11), true)])
    func aConnectionLostSoonIsDialedAfterThePauseOfTheFailuresBeforeIt(life span: Duration, isAtOnce: Bool) throws {
        let life = try PoolLife {
            $0.connectionLimit = 1
            $0.circuitLimit = .max
            $0.queueTimeout = .seconds(100_000)
            $0.streamTimeout = .seconds(100_000)
            $0.pingInterval = .zero
        }
        _ = life.submit(Array(repeating: .post(), count: 1000))
        for number in 0..<5 {
            life.fail(number)
            while life.dials.count == number + 1 { life.pass(.milliseconds(100)) }
        }
        let peer = life.prove(5, limit: 1)
        life.pass(span, inStepsOf: .milliseconds(100))
        peer.drop()
        life.pump()
        let lost = life.now
        while life.dials.count == 6 { life.pass(.milliseconds(100)) }
        let pause = life.dials[6].time.elapsed(since: lost)
        // As after the fifth failure: 16 to 32 s.
        #expect(isAtOnce ? pause < 2_000_000_000 : pause >= 16_000_000_000, "\(pause)")
    }
}
