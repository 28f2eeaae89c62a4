import Testing

@testable import HTTP2Client

/// Connections that are replaced though they work, under a clock that the test moves.
@Suite(.timeLimit(.minutes(5)))
struct ReplacementTests {
    private static func patient(_ configuration: inout PoolConfiguration) {
        configuration.connectionLimit = 1
        configuration.queueTimeout = .seconds(100_000)
        configuration.streamTimeout = .seconds(100_000)
        configuration.connectTimeout = .seconds(100_000)
        configuration.warmingTimeout = .seconds(100_000)
        configuration.pingInterval = .zero
    }

    private static func posts(_ count: Int) -> [Request] { Array(repeating: .post(), count: count) }

    /// The seconds of a life at which it dialed, rounded down.
    private static func dialSeconds(_ life: PoolLife) -> [Int64] {
        life.dials.map { $0.time.nanoseconds / 1_000_000_000 }
    }

    // MARK: Held at one stream or none

    /// Each successor is narrowed as soon as it has proved itself.
    @Test(arguments: [0, 1])
    func aNarrowConnectionIsReplacedAfterPausesThatDouble(limit: Int) throws {
        let life = try PoolLife(Self.patient)
        let ends = life.submit(Self.posts(100))
        life.prove(0, limit: 1).announce(limit: limit)
        life.pump()
        life.pass(.seconds(3000), inStepsOf: .seconds(1)) {
            guard let last = life.dials.indices.last, life.dials[last].peer == nil else { return }
            life.prove(last, limit: 1).announce(limit: limit)
            life.pump()
            #expect(life.core.connections.count { !$0.isDraining } == 1)
        }
        #expect(Self.dialSeconds(life) == [0, 20, 60, 140, 300, 620, 1220, 1820, 2420])
        #expect(ends.all.allSatisfy { $0.status == 200 })
        #expect(life.statistics.failedDials == 0)
    }

    @Test func theSuccessorHasAllStreamsAndTheOldOneFinishesWhatItHas() throws {
        let life = try PoolLife(Self.patient)
        let ends = life.submit(Self.posts(50))
        let old = life.prove(0, limit: 1)
        life.pass(.seconds(21), inStepsOf: .seconds(1))
        let new = life.prove(1, limit: 100)
        #expect(old.open.count == 1 && new.open.count == 47)
        life.answerAll(new)
        #expect(!old.isClosed)
        life.answerAll(old)
        #expect(old.isClosed)
        #expect(ends.count == 50)
        #expect(ends.all.allSatisfy { $0.status == 200 })
        life.pass(.seconds(3600), inStepsOf: .seconds(10))
        #expect(life.dials.count == 2)
    }

    /// The old one is better than none.
    @Test func whileNoSuccessorStandsTheNarrowConnectionIsKept() throws {
        let life = try PoolLife(Self.patient)
        _ = life.submit(Self.posts(200))
        let old = life.prove(0, limit: 1)
        life.pass(.seconds(100), inStepsOf: .seconds(1)) {
            life.answerAll(old)
            if let last = life.dials.indices.last, last > 0 { life.fail(last) }
        }
        #expect(life.dials.count > 3)
        #expect(!old.isClosed)
        #expect(old.opened > 100)
    }

    @Test func aNarrowConnectionThatNothingWaitsForStays() throws {
        let life = try PoolLife(Self.patient)
        let first = life.submit(Self.posts(1))
        let peer = life.prove(0, limit: 1)
        #expect(first[0]?.status == 200)
        life.pass(.seconds(3600), inStepsOf: .seconds(10)) {
            let next = life.submit(Self.posts(2))
            life.answerAll(peer)
            life.answerAll(peer)
            #expect(next.count == 2)
        }
        #expect(life.dials.count == 1)
    }

    @Test func aPeerThatWidensAConnectionInTimeKeepsIt() throws {
        let life = try PoolLife(Self.patient)
        _ = life.submit(Self.posts(50))
        let peer = life.prove(0, limit: 1)
        life.pass(.seconds(19), inStepsOf: .seconds(1))
        peer.announce(limit: 10)
        life.pump()
        life.pass(.seconds(60), inStepsOf: .seconds(1))
        #expect(life.dials.count == 1)
    }

    /// When one would have been due.
    @Test func whileThePoolWindsDownItIsNotWokenForASuccessor() throws {
        let life = try PoolLife(Self.patient)
        let ends = life.submit(Self.posts(4))
        let peer = life.prove(0, limit: 1)
        life.pass(.seconds(5))
        life.loop.act(at: life.now) { life.core.windDown() }
        life.pass(.seconds(60), inStepsOf: .seconds(1))
        #expect(life.dials.count == 1)
        let next = try #require(life.loop.deadlines.next)
        #expect(next > life.now, "the loop would turn without end")
        while ends.count < 4 { life.answerAll(peer) }
        #expect(ends.all.allSatisfy { $0.status == 200 })
    }

    // MARK: Age

    @Test func aConnectionEndsAfterItsLifetimeAtATimeThatDiffers() throws {
        var ends: Set<Int> = []
        for seed in 0..<8 as Range<UInt64> {
            let life = try PoolLife(seed: seed) {
                Self.patient(&$0)
                $0.connectionLifetime = .seconds(1000)
            }
            _ = life.submit(Self.posts(1))
            let peer = life.prove(0, limit: 10)
            var seconds = 0
            while !peer.isClosed, seconds < 1300 {
                life.pass(.seconds(1))
                seconds += 1
            }
            #expect((799...1201).contains(seconds))
            ends.insert(seconds)
            // Nothing is dialed before it is needed.
            #expect(life.dials.count == 1 && life.statistics.failedDials == 0)
        }
        #expect(ends.count > 4)
    }

    @Test func theSuccessorOfAnOldConnectionIsDialedWhileItFinishesItsStreams() throws {
        let life = try PoolLife {
            Self.patient(&$0)
            $0.connectionLifetime = .seconds(1000)
        }
        _ = life.submit(Self.posts(1))
        let old = life.prove(0, limit: 10)
        let running = life.submit(Self.posts(3))
        life.pass(.seconds(1201), inStepsOf: .seconds(1))
        #expect(life.dials.count == 2)
        #expect(life.dials[0].connection?.isDraining == true)
        let next = life.submit(Self.posts(1))
        life.prove(1, limit: 10)
        #expect(next[0]?.status == 200)
        #expect(running.count == 0)
        life.answerAll(old)
        #expect(running.all.allSatisfy { $0.status == 200 })
        #expect(running.count == 3)
        #expect(old.isClosed)
    }

    @Test func aConnectionAtWorkStaysWhileItsSuccessorCantBeDialed() throws {
        let life = try PoolLife {
            Self.patient(&$0)
            $0.connectionLifetime = .seconds(100)
            $0.dialBurst = 1
            $0.dialInterval = .seconds(1000)
        }
        _ = life.submit(Self.posts(1))
        life.prove(0, limit: 10)
        _ = life.submit(Self.posts(3))
        life.pass(.seconds(990), inStepsOf: .seconds(10))
        #expect(life.dials.count == 1)
        #expect(life.dials[0].connection?.isDraining == false)
        life.pass(.seconds(700), inStepsOf: .seconds(10))
        #expect(life.dials.count == 2)
        #expect(life.dials[0].connection?.isDraining == true)
    }

    // MARK: Idle connections that are dead

    private func withIdlePool(_ body: (PoolLife) throws -> Void) throws {
        let life = try PoolLife {
            $0.connectionLimit = 2
            $0.queueTimeout = .seconds(600)
        }
        life.grow(to: 2, limit: 4)
        #expect(life.dials.count == 2)
        life.pass(.seconds(60))
        try body(life)
    }

    @Test func whenAllIdleConnectionsAreDeadAnotherIsDialedBesideThePING() throws {
        try withIdlePool { life in
            for dial in life.dials { dial.peer?.isSilent = true }
            let start = life.now
            let ends = life.submit(Self.posts(1))
            life.pass(.milliseconds(400))
            #expect(life.dials.count == 2)
            life.pass(.milliseconds(101))
            #expect(life.dials.count == 3)
            life.prove(2, limit: 4)
            #expect(ends[0]?.status == 200)
            #expect(life.now.elapsed(since: start) < 1_000_000_000)
            life.pass(.seconds(10), inStepsOf: .milliseconds(500))
            #expect(life.statistics.connections == 1)
            #expect(life.dials[0].peer?.isClosed == true && life.dials[1].peer?.isClosed == true)
        }
    }

    @Test func anIdleConnectionThatAnswersIsNotDialedBeside() throws {
        try withIdlePool { life in
            let ends = life.submit(Self.posts(1))
            life.pass(.milliseconds(400))
            for dial in life.dials { dial.peer?.answerPings() }
            life.pump()
            for dial in life.dials { if let peer = dial.peer { life.answerAll(peer) } }
            #expect(ends[0]?.status == 200)
            life.pass(.seconds(10), inStepsOf: .seconds(1))
            #expect(life.dials.count == 2)
            #expect(life.statistics.connections == 2)
        }
    }

    @Test func whatWasDialedBesideALateAnswerGoesAgain() throws {
        try withIdlePool { life in
            let ends = life.submit(Self.posts(1))
            life.pass(.milliseconds(600))
            #expect(life.dials.count == 3)
            for dial in life.dials { dial.peer?.answerPings() }
            life.pump()
            for dial in life.dials { if let peer = dial.peer { life.answerAll(peer) } }
            #expect(ends[0]?.status == 200)
            #expect(life.core.connections.count == 2)
            #expect(life.statistics.failedDials == 0 && life.statistics.lastFailure == nil)
        }
    }
}
