import Foundation
import TestSupport
import Testing

@testable import HTTP2Client

/// Against a peer that does what the test says, over real sockets and TLS.
@Suite(.enabled(if: Tool.hasOpenSSL), .timeLimit(.minutes(5)))
struct ScriptedPeerTests {
    /// A peer, a pool, and one proven connection between them.
    private func withConnection(
        maxStreams: UInt32 = 100, adjust: (inout PoolConfiguration) -> Void = { _ in },
        _ body: (ScriptedPeer, ConnectionPool) async throws -> Void
    ) async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.connectionLimit = 1
            adjust(&configuration)
            let pool = try engine.openPool(configuration)
            let first = await Submitted([.get], to: pool)
            try await peer.greet(maxStreams: maxStreams)
            try peer.send(.answer(try await peer.nextAnsweringPings(Frame.headers).stream, status: 200))
            #expect(await first.exchanges().first?.status == 200)
            try await body(peer, pool)
        }
    }

    @Test func oneStreamUntilAProvenAnswerThenMany() async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.connectionLimit = 1
            let pool = try engine.openPool(configuration)
            let submitted = await Submitted(Array(repeating: .get, count: 6), to: pool)
            try await peer.greet(maxStreams: 4)
            for (stream, status) in [(UInt32(1), 403), (3, 403), (5, 400)] {
                #expect(try await peer.next(Frame.headers).stream == stream)
                #expect(pool.statistics.streamLimit <= 1)
                try peer.send(.answer(stream, status: status))
            }
            for stream: UInt32 in [7, 9, 11] { #expect(try await peer.next(Frame.headers).stream == stream) }
            for stream: UInt32 in [7, 9, 11] { try peer.send(.answer(stream, status: 200)) }
            #expect(await submitted.exchanges().map(\.status) == [403, 403, 400, 200, 200, 200])
        }
    }

    @Test func neverMoreStreamsThanALowerLimitAllows() async throws {
        try await withConnection(maxStreams: 8) { peer, pool in
            try peer.send(.settings(maxStreams: 2))
            // Frames are taken in order: the answer to the PING shows that the SETTINGS hold.
            try peer.send(Frame(type: Frame.ping, payload: Array(repeating: 1, count: 8)))
            _ = try await peer.next(Frame.ping)
            let submitted = await Submitted(Array(repeating: .get, count: 5), to: pool)
            var open: [UInt32] = []
            for _ in 0..<2 { open.append(try await peer.next(Frame.headers).stream) }
            #expect(pool.statistics.streamsInUse <= 2)
            for _ in 0..<3 {
                try peer.send(.answer(open.removeFirst(), status: 200))
                open.append(try await peer.next(Frame.headers).stream)
            }
            for stream in open { try peer.send(.answer(stream, status: 200)) }
            #expect(await submitted.exchanges().allSatisfy { $0.status == 200 })
        }
    }

    /// Submits a request whose body the peer does not let out, and answers it completely (RFC 9113 §8.1).
    private func answeredBeforeItsBody(_ peer: ScriptedPeer, _ pool: ConnectionPool) async throws -> Submitted {
        // SETTINGS_INITIAL_WINDOW_SIZE 0; the answer to the PING shows that it holds.
        try peer.send(Frame(type: Frame.settings, payload: [0, 4, 0, 0, 0, 0]))
        try peer.send(Frame(type: Frame.ping, payload: Array(repeating: 1, count: 8)))
        _ = try await peer.next(Frame.ping)
        let submitted = await Submitted([.post()], to: pool)
        try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 410))
        return submitted
    }

    @Test func anAnswerBeforeTheBodyIsOutCountsWhenTheConnectionBreaks() async throws {
        try await withConnection { peer, pool in
            let submitted = try await answeredBeforeItsBody(peer, pool)
            // DATA on stream 0 breaks it.
            try peer.send(.data(0, [1, 2, 3], ends: false))
            #expect(await submitted.exchanges().first?.status == 410)
        }
    }

    @Test func aSilentPeerIsFoundOutByPingWhileAnswersAreOutstanding() async throws {
        try await withConnection(adjust: {
            $0.pingInterval = .milliseconds(300)
            // Long enough for the peer's answers while the connection is made, on a busy machine too.
            $0.pingTimeout = .seconds(3)
        }) { peer, pool in
            let submitted = await Submitted([.get], to: pool)
            _ = try await peer.nextAnsweringPings(Frame.headers)
            let failure = try #require(await submitted.exchanges().first?.unanswered)
            #expect(failure.kind == .connectionLost)
            #expect(failure.message.contains("PING"))
        }
    }

    @Test func afterSilenceAPingGoesBeforeTheRequest() async throws {
        try await withConnection(adjust: {
            $0.pingInterval = .milliseconds(50)
            $0.pingTimeout = .seconds(20)
        }) { peer, pool in
            // The silence itself, longer than the interval: the loop reads the machine's clock.
            try await Task.sleep(for: .milliseconds(60))
            let submitted = await Submitted([.get], to: pool)
            let ping = try await peer.next(Frame.ping)
            #expect(pool.statistics.queued == 1)
            try peer.send(.pong(ping))
            let stream = try await peer.nextAnsweringPings(Frame.headers).stream
            try peer.send(.answer(stream, status: 200))
            #expect(await submitted.exchanges().first?.status == 200)
        }
    }

    @Test func aRefusedStreamWasNotSent() async throws {
        try await withConnection { peer, pool in
            let submitted = await Submitted([.get], to: pool)
            try peer.send(.reset(try await peer.next(Frame.headers).stream, code: 7))
            #expect(await submitted.exchanges().first?.notSent?.kind == .refused)
        }
    }

    @Test func anotherResetIsUnanswered() async throws {
        try await withConnection { peer, pool in
            let submitted = await Submitted([.get], to: pool)
            try peer.send(.reset(try await peer.next(Frame.headers).stream, code: 2))
            let failure = try #require(await submitted.exchanges().first?.unanswered)
            #expect(failure.kind == .reset)
            #expect(failure.message.contains("INTERNAL_ERROR"))
        }
    }

    @Test func goAwayDrainsAndGivesBackWhatLiesBeyond() async throws {
        try await withConnection { peer, pool in
            let dials = pool.statistics.dials
            let submitted = await Submitted(Array(repeating: .get, count: 3), to: pool)
            for _ in 0..<3 { _ = try await peer.next(Frame.headers) }
            try peer.send(.goAway(lastStream: 3, code: 0, debug: "{\"reason\":\"Shutdown\"}"), .answer(3, status: 200))
            let exchanges = await submitted.exchanges()
            #expect(exchanges[0].status == 200)
            for exchange in exchanges[1...] {
                #expect(exchange.notSent?.kind == .refused)
                #expect(exchange.notSent?.message.contains("Shutdown") == true)
            }
            #expect(pool.statistics.goAways == 1)
            // A new connection serves what comes next.
            let next = await Submitted([.get], to: pool)
            try await peer.greet(maxStreams: 10)
            try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200))
            #expect(await next.exchanges().first?.status == 200)
            #expect(pool.statistics.dials == dials + 1)
        }
    }

    @Test func aKilledPeerLeavesUnansweredWhatHadLeft() async throws {
        try await withConnection(maxStreams: 1, adjust: { $0.queueTimeout = .seconds(2) }) { peer, pool in
            let submitted = await Submitted([.get, .get, .get], to: pool)
            _ = try await peer.next(Frame.headers)
            peer.kill()
            let exchanges = await submitted.exchanges()
            #expect(exchanges[0].unanswered?.kind == .connectionLost)
            #expect(exchanges[1...].allSatisfy { $0.notSent?.kind == .connectFailed })
        }
    }

    @Test func aPeerThatBreaksTheProtocolIsLeft() async throws {
        try await withConnection { peer, pool in
            let submitted = await Submitted([.get], to: pool)
            _ = try await peer.next(Frame.headers)
            // DATA on stream 0 (RFC 9113 §6.1).
            try peer.send(.data(0, [1, 2, 3], ends: false))
            let failure = try #require(await submitted.exchanges().first?.unanswered)
            #expect(failure.kind == .protocolError, "\(failure)")
        }
    }

    @Test func aPeerWithoutHTTP2IsNamed() async throws {
        let peer = try await ScriptedPeer(alpn: nil)
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.queueTimeout = .seconds(3)
            let pool = try engine.openPool(configuration)
            let failure = try #require(await pool.exchange([.get]).first?.notSent)
            #expect(failure.kind == .tlsFailed)
            #expect(failure.message.contains("ALPN"), "\(failure.message)")
        }
    }

    @Test func aPeerWithoutSettingsIsGivenUp() async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.connectTimeout = .seconds(1)
            configuration.queueTimeout = .seconds(3)
            let pool = try engine.openPool(configuration)
            let failure = try #require(await pool.exchange([.get]).first?.notSent)
            #expect(failure.kind == .connectFailed)
            #expect(failure.message.contains("not connected in time"), "\(failure.message)")
        }
    }

    @Test func aFullQueueSuspendsSubmitUntilThereIsRoom() async throws {
        try await withConnection(maxStreams: 1, adjust: { $0.queueLimit = 2 }) { peer, pool in
            let running = await Submitted([.get], to: pool)
            var stream = try await peer.next(Frame.headers).stream
            let queued = await Submitted([.get, .get], to: pool)
            #expect(pool.statistics.queued == 2)
            async let suspended = Submitted([.get], to: pool).exchanges()
            for _ in 0..<3 {
                try peer.send(.answer(stream, status: 200))
                stream = try await peer.next(Frame.headers).stream
            }
            try peer.send(.answer(stream, status: 200))
            #expect(await running.exchanges().first?.status == 200)
            #expect(await queued.exchanges().allSatisfy { $0.status == 200 })
            #expect(await suspended.first?.status == 200)
        }
    }

    @Test func urgentRequestsOvertakeTheQueue() async throws {
        try await withConnection(maxStreams: 1) { peer, pool in
            let running = await Submitted([.get], to: pool)
            let first = try await peer.next(Frame.headers).stream
            let bulk = await Submitted([.get, .get], to: pool)
            let urgent = await Submitted([.post(isUrgent: true)], to: pool)
            try peer.send(.answer(first, status: 200))
            // Only the urgent one has a body.
            let data = try await peer.next(Frame.data)
            #expect(data.stream == first + 2)
            try peer.send(.answer(data.stream, status: 200))
            #expect(await urgent.exchanges().first?.status == 200)
            for _ in 0..<2 {
                var stream: UInt32
                repeat { stream = try await peer.next(Frame.headers).stream } while stream <= data.stream
                try peer.send(.answer(stream, status: 200))
            }
            #expect(await running.exchanges().first?.status == 200)
            #expect(await bulk.exchanges().allSatisfy { $0.status == 200 })
        }
    }

    @Test func closingEndsEverythingAndTakesNothingMore() async throws {
        try await withConnection(maxStreams: 1) { peer, pool in
            let running = await Submitted([.get, .get], to: pool)
            _ = try await peer.next(Frame.headers)
            await pool.close(within: .milliseconds(100))
            let exchanges = await running.exchanges()
            #expect(exchanges[0].unanswered?.kind == .shutdown)
            #expect(exchanges[1].notSent?.kind == .shutdown)
            #expect(await pool.exchange([.get, .get]).allSatisfy { $0.notSent?.kind == .shutdown })
            await pool.close(within: .seconds(10))
            #expect(pool.statistics.connections == 0)
        }
    }

    @Test func closingLetsStreamsFinish() async throws {
        try await withConnection { peer, pool in
            let running = await Submitted([.get], to: pool)
            let stream = try await peer.next(Frame.headers).stream
            async let closed: Void = pool.close(within: .seconds(30))
            try peer.send(.answer(stream, status: 200))
            #expect(await running.exchanges().first?.status == 200)
            await closed
        }
    }

    @Test func shutdownEndsPoolsAndCallersThatWait() async throws {
        let peer = try await ScriptedPeer()
        try await withEngine(loopCount: 2) { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.queueLimit = 1
            let pools = try (0..<4).map { _ in try engine.openPool(configuration) }
            let exchanges = try await withThrowingTaskGroup { group in
                for pool in pools {
                    group.addTask { await pool.exchange([.get, .get, .get]) }
                }
                _ = try await peer.next(Frame.settings)
                await engine.shutdown(within: .milliseconds(50))
                return try await group.reduce(into: [Exchange]()) { $0 += $1 }
            }
            #expect(exchanges.count == 12)
            #expect(exchanges.allSatisfy { $0.notSent?.kind == .shutdown })
            #expect(throws: TransportFailure.self) { try engine.openPool(configuration) }
        }
    }
}
