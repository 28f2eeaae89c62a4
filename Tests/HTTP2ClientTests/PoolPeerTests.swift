import TestSupport
import Testing

@testable import HTTP2Client

/// The pool's decisions, seen by several peers at a time.
@Suite(.enabled(if: Tool.hasOpenSSL), .timeLimit(.minutes(5)))
struct PoolPeerTests {
    private func withFarm(
        _ count: Int, adjust: (inout PoolConfiguration) -> Void = { _ in },
        _ body: (PeerFarm, ConnectionPool) async throws -> Void
    ) async throws {
        let farm = try await PeerFarm(count)
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(farm.port, trust: farm.tls)
            adjust(&configuration)
            try await body(farm, try engine.openPool(configuration))
        }
    }

    /// Greets, answers the first request, and so proves the connection.
    private func prove(_ peer: ScriptedPeer, maxStreams: UInt32) async throws {
        try await peer.greet(maxStreams: maxStreams)
        try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200))
    }

    /// Returns once the engine has published what it did before it sent the frames that the peer has.
    private func settle(_ peer: ScriptedPeer) async throws {
        try peer.send(Frame(type: Frame.ping, payload: Array(repeating: 7, count: 8)))
        while true {
            let ping = try await peer.next(Frame.ping)
            if ping.hasFirstFlag { return }
        }
    }

    // MARK: Growing

    @Test func whileAllAreFullThePoolGrowsToItsLimitAndKeepsAllFull() async throws {
        try await withFarm(4, adjust: { $0.connectionLimit = 4 }) { farm, pool in
            let submitted = await Submitted(Array(repeating: .get, count: 100), to: pool)
            for peer in farm.peers { try await prove(peer, maxStreams: 3) }
            var (open, answered): ([[UInt32]], Int) = ([[], [], [], []], 4)
            // Rounds of a long way: everything in flight is answered at once, and all streams are taken again.
            for _ in 0..<8 {
                for (number, peer) in farm.peers.enumerated() {
                    for _ in 0..<3 { open[number].append(try await peer.next(Frame.headers).stream) }
                }
                for peer in farm.peers { try await settle(peer) }
                let statistics = pool.statistics
                #expect(statistics.connections == 4)
                #expect(statistics.streamsInUse == 12)
                #expect(statistics.streamLimit == 12)
                #expect(statistics.dials == 4)
                for (number, peer) in farm.peers.enumerated() {
                    for stream in open[number] { try peer.send(.answer(stream, status: 200)) }
                    answered += open[number].count
                    open[number] = []
                }
            }
            #expect(answered == 100)
            #expect(await submitted.exchanges().allSatisfy { $0.status == 200 })
            #expect(pool.statistics.connections == 4)
            #expect(pool.statistics.dials == 4)
            #expect(pool.statistics.failedDials == 0)
        }
    }

    @Test func aPoolWithoutProofDialsOnce() async throws {
        try await withFarm(2) { farm, pool in
            let submitted = await Submitted(Array(repeating: .get, count: 50), to: pool)
            try await farm.peers[0].greet(maxStreams: 10)
            let first = try await farm.peers[0].next(Frame.headers).stream
            try await settle(farm.peers[0])
            #expect(pool.statistics.dials == 1)
            await pool.close(within: .zero)
            #expect(await submitted.exchanges().count == 50)
            #expect(first == 1)
        }
    }

    // MARK: GOAWAY

    @Test func theSuccessorIsDialedWhileTheOldConnectionFinishes() async throws {
        try await withFarm(2, adjust: { $0.connectionLimit = 1 }) { farm, pool in
            let (old, new) = (farm.peers[0], farm.peers[1])
            let first = await Submitted([.get], to: pool)
            try await prove(old, maxStreams: 10)
            #expect(await first.exchanges().first?.status == 200)
            let running = await Submitted([.get], to: pool)
            let stream = try await old.next(Frame.headers).stream
            try old.send(.goAway(lastStream: stream, code: 0, debug: "{\"reason\":\"Shutdown\"}"))
            // Nothing waits, and the stream is not done.
            try await new.greet(maxStreams: 10)
            let next = await Submitted([.get], to: pool)
            try new.send(.answer(try await new.next(Frame.headers).stream, status: 200))
            #expect(await next.exchanges().first?.status == 200)
            try old.send(.answer(stream, status: 200))
            #expect(await running.exchanges().first?.status == 200)
            // What came after GOAWAY: nothing but the farewell.
            #expect(try await old.next().type == Frame.goAway)
            #expect(pool.statistics.dials == 2)
            #expect(pool.statistics.goAwaysByReason == ["Shutdown": 1])
            #expect(pool.statistics.failedDials == 0)
        }
    }

    @Test func anIdleConnectionThatIsToldToGoHasNoSuccessor() async throws {
        try await withFarm(2) { farm, pool in
            let first = await Submitted([.get], to: pool)
            try await prove(farm.peers[0], maxStreams: 10)
            #expect(await first.exchanges().first?.status == 200)
            try farm.peers[0].send(.goAway(lastStream: 1, code: 0))
            _ = try await farm.peers[0].next(Frame.goAway)
            await pool.close(within: .zero)
            #expect(pool.statistics.dials == 1)
            #expect(pool.statistics.goAwaysByReason == ["NO_ERROR": 1])
        }
    }

    @Test(arguments: [(UInt32(0), ""), (7, "max active streams violated"), (11, "{\"reason\":\"Enhance\"}")])
    func afterGoAwayWhatWasProcessedFinishesOrIsUnknownAndTheRestWasNotSent(
        code: UInt32, debug: String
    ) async throws {
        try await withFarm(
            2,
            adjust: {
                $0.connectionLimit = 1
                $0.drainTimeout = .milliseconds(500)
            }
        ) { farm, pool in
            let (old, new) = (farm.peers[0], farm.peers[1])
            let first = await Submitted([.get], to: pool)
            try await prove(old, maxStreams: 10)
            #expect(await first.exchanges().first?.status == 200)
            let running = await Submitted([.get, .get, .get], to: pool)
            for _ in 0..<3 { _ = try await old.next(Frame.headers) }
            try old.send(.goAway(lastStream: 5, code: code, debug: debug), .answer(3, status: 200))
            let exchanges = await running.exchanges()
            #expect(exchanges[0].status == 200)
            #expect(exchanges[1].unanswered?.kind == .connectionLost)
            #expect(exchanges[1].unanswered?.message.contains("not done in time") == true)
            #expect(exchanges[2].notSent?.kind == .refused)
            try await new.greet(maxStreams: 10)
            let next = await Submitted([.get], to: pool)
            try new.send(.answer(try await new.next(Frame.headers).stream, status: 200))
            #expect(await next.exchanges().first?.status == 200)
            #expect(try await old.next().type == Frame.goAway)
        }
    }

    // MARK: Rate and circuit

    @Test func aPeerThatDropsWhatItAcceptsIsNotDialedBeyondTheBudget() async throws {
        try await withFarm(
            0,
            adjust: {
                $0.connectionLimit = 1
                $0.dialBurst = 3
                $0.dialInterval = .seconds(60)
                $0.backOffFloor = .milliseconds(1)
                $0.backOffCeiling = .milliseconds(1)
                $0.queueTimeout = .seconds(1)
            }
        ) { farm, pool in
            #expect(await pool.exchange([.get, .get]).allSatisfy { $0.notSent != nil })
            #expect(farm.turnedAway == 3)
            #expect(pool.statistics.dials == 3)
            #expect(pool.statistics.failedDials == 3)
        }
    }

    @Test func afterSeveralFailuresRequestsEndAtOnce() async throws {
        let port = try ClosedPort()
        try await withEngine { engine in
            var configuration = PoolConfiguration(host: "127.0.0.1", port: port.number)
            configuration.circuitLimit = 1
            configuration.backOffFloor = .seconds(600)
            configuration.backOffCeiling = .seconds(600)
            // Longer than the test may take: it is not what ends them.
            configuration.queueTimeout = .seconds(600)
            let pool = try engine.openPool(configuration)
            for _ in 0..<3 {
                for exchange in await pool.exchange([.get, .post(isUrgent: true)]) {
                    #expect(exchange.notSent?.kind == .connectFailed)
                    #expect(exchange.notSent?.message.contains("circuit is open after 1 failed dials") == true)
                    #expect(exchange.notSent?.message.contains("Connection refused") == true)
                }
            }
            #expect(pool.statistics.circuit == .open)
            #expect(pool.statistics.dials == 1)
            #expect(pool.statistics.failedDials == 1)
            #expect(pool.statistics.queued == 0)
        }
        withExtendedLifetime(port) {}
    }
}

/// The circuit against a server that goes and comes back.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct CircuitTests {
    @Test func theHalfOpenCircuitFindsAServerThatIsBack() async throws {
        let server = try await Nghttpd()
        server.kill()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.circuitLimit = 1
            configuration.backOffFloor = .milliseconds(300)
            configuration.backOffCeiling = .milliseconds(300)
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.notSent?.kind == .connectFailed)
            #expect(pool.statistics.circuit != .closed)
            try await server.restart()
            // Ends at once while the circuit is open; the first request after the pause waits for the dial.
            var exchange: Exchange?
            repeat { exchange = await pool.exchange([.get]).first } while exchange?.status == nil
            #expect(exchange?.status == 200)
            #expect(pool.statistics.circuit == .closed)
            #expect(pool.statistics.lastFailure == nil)
        }
    }
}
