import Synchronization
import TestSupport
import Testing

@testable import HTTP2Client

/// A connection breaks in each of its phases, in each way: what becomes of the requests, and that the pool recovers.
@Suite(.enabled(if: Tool.hasNghttpd), .timeLimit(.minutes(5)))
struct BreakageTests {
    /// How often the client's bytes have come when it is in this phase.
    enum Early: Int, CaseIterable, Sendable {
        case connected, handshaking
    }

    @Test(arguments: Early.allCases, TCPRelay.Fault.allCases)
    func beforeSettingsNothingHasLeft(phase: Early, fault: TCPRelay.Fault) async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port, .fault(fault, afterReads: phase.rawValue))
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(relay.port, trust: server.tls)
            configuration.queueTimeout = .seconds(2)
            configuration.connectTimeout = .milliseconds(fault == .silence ? 500 : 10_000)
            let pool = try engine.openPool(configuration)
            let failure = try await pool.dialFailure()
            // A RST may come before the engine has seen that TCP stands.
            let kinds: Set<TransportFailure.Kind> =
                switch (phase, fault) {
                case (_, .silence): [.connectFailed]
                case (.connected, .reset): [.connectFailed, .tlsFailed]
                case (.connected, .finish), (.handshaking, .finish), (.handshaking, .reset): [.tlsFailed]
                }
            #expect(kinds.contains(failure.kind), "\(failure)")
            #expect(failure.message.contains("127.0.0.1"), "\(failure.message)")
            #expect(pool.statistics.connections == 0)
            #expect(pool.statistics.lastFailure != nil)
        }
    }

    @Test(arguments: Early.allCases, TCPRelay.Fault.allCases)
    func afterABrokenDialTheNextOneServes(phase: Early, fault: TCPRelay.Fault) async throws {
        let server = try await Nghttpd()
        let relay = try TCPRelay(to: server.port)
        relay.treatNext(.fault(fault, afterReads: phase.rawValue), .fault(fault, afterReads: phase.rawValue))
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(relay.port, trust: server.tls)
            configuration.connectTimeout = .seconds(1)
            configuration.queueTimeout = .seconds(600)
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get, .post()]).allSatisfy { $0.status == 200 })
            #expect(pool.statistics.dials >= 3)
            #expect(pool.statistics.lastFailure == nil)
        }
    }

    /// Faults that both ends see at once. What ends without a sign is noticed by time alone: ``SilenceTests`` has it, where
    /// the clock is the test's own.
    static let seen: [TCPRelay.Fault] = [.finish, .reset]

    @Test(arguments: seen) func withoutSettingsTheRequestWaitsForTheNextConnection(fault: TCPRelay.Fault) async throws {
        let peer = try await ScriptedPeer()
        let relay = try TCPRelay(to: peer.port)
        try await withEngine { engine in
            let pool = try engine.openPool(Self.patient(relay.port, peer))
            let submitted = await Submitted([.get], to: pool)
            // TLS stands, and the engine waits for the peer's SETTINGS.
            _ = try await peer.next(Frame.settings)
            relay.inflict(fault)
            try await serve(peer, submitted)
            #expect(pool.statistics.dials >= 2)
            #expect(pool.statistics.lastFailure == nil)
        }
    }

    /// However busy the machine is, nothing but the fault ends a connection, a dial or a request.
    private static func patient(_ port: Int, _ peer: ScriptedPeer) -> PoolConfiguration {
        var configuration = PoolConfiguration.local(port, trust: peer.tls)
        configuration.queueTimeout = .seconds(600)
        configuration.connectTimeout = .seconds(600)
        configuration.warmingTimeout = .seconds(600)
        configuration.streamTimeout = .seconds(600)
        configuration.drainTimeout = .seconds(600)
        configuration.pingInterval = .zero
        return configuration
    }

    /// Requests are in flight in these.
    enum Late: CaseIterable, Sendable {
        case warming, active, draining
    }

    @Test(arguments: Late.allCases, seen)
    func whatHadLeftIsUnansweredAndTheRestGoesOn(phase: Late, fault: TCPRelay.Fault) async throws {
        let peer = try await ScriptedPeer(answersPings: true)
        let relay = try TCPRelay(to: peer.port)
        try await withEngine { engine in
            var configuration = Self.patient(relay.port, peer)
            configuration.connectionLimit = 1
            let pool = try engine.openPool(configuration)
            let broken = try await reach(phase, peer, pool)
            // After GOAWAY the successor is on its way already. It waits for the first one's end.
            relay.inflictOnFirst(fault)
            let failure = try #require(await broken.exchanges().first?.unanswered)
            #expect(failure.kind == .connectionLost)
            let next = await Submitted([.get], to: pool)
            try await serve(peer, next)
        }
    }

    /// Requests that the peer has, while the connection is in `phase`.
    private func reach(_ phase: Late, _ peer: ScriptedPeer, _ pool: ConnectionPool) async throws -> Submitted {
        if phase == .warming {
            let submitted = await Submitted([.get], to: pool)
            _ = try await peer.nextRequest()
            return submitted
        }
        let first = await Submitted([.get], to: pool)
        try await serve(peer, first)
        let submitted = await Submitted([.get], to: pool)
        let stream = try await peer.nextRequest()
        if phase == .draining {
            try peer.send(.goAway(lastStream: stream, code: 0))
            try await peer.awaitUnderstanding()
            // Figures are shown at the end of the turn that took the GOAWAY: before the next PING is answered.
            try await peer.awaitUnderstanding()
            #expect(pool.statistics.goAways == 1)
        }
        return submitted
    }

    /// Plays the peer of a new connection and of one request.
    private func serve(_ peer: ScriptedPeer, _ submitted: Submitted) async throws {
        let stream = try await peer.nextRequest()
        try peer.send(.answer(stream, status: 200))
        let ended = await submitted.exchanges().first
        #expect(ended?.status == 200, "\(String(describing: ended))")
    }

    @Test func anEndWithoutCloseNotifyIsNotTakenForAGoodOne() async throws {
        let peer = try await ScriptedPeer()
        let relay = try TCPRelay(to: peer.port)
        try await withEngine { engine in
            let pool = try engine.openPool(PoolConfiguration.local(relay.port, trust: peer.tls))
            let submitted = await Submitted([.get], to: pool)
            let stream = try await peer.nextRequest()
            // An answer without its end: it must not count as one.
            try peer.send(.answer(stream, status: 200, ends: false), .data(stream, [1], ends: false))
            try await peer.awaitUnderstanding()
            relay.inflict(.finish)
            let failure = try #require(await submitted.exchanges().first?.unanswered)
            #expect(failure.kind == .connectionLost)
            #expect(failure.message.contains("closed the connection without notice"), "\(failure.message)")
            #expect(failure.message.contains("127.0.0.1:\(relay.port)"), "\(failure.message)")
        }
    }

    @Test func aHalfOpenListenerIsGivenUpAndFoundAgain() async throws {
        let server = try await Nghttpd()
        let hole = try BlackHole()
        let dials = Mutex(0)
        try await withEngine(resolve: { _, _ in
            let dial = dials.withLock { count in
                count += 1
                return count
            }
            let place = dial < 3 ? (BlackHole.loopback, hole.port) : (.v4, server.port)
            return SocketAddress.resolve(host: place.0.rawValue, port: place.1, isLiteral: true)
        }) { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.host = "push.test"
            configuration.serverName = "localhost"
            configuration.connectTimeout = .seconds(1)
            configuration.queueTimeout = .seconds(600)
            let pool = try engine.openPool(configuration)
            #expect(await pool.exchange([.get]).first?.status == 200)
            #expect(pool.statistics.dials >= 3)
        }
        withExtendedLifetime(hole) {}
    }
}
