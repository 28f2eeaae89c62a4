import TestSupport
import Testing

@testable import HTTP2Client

/// A pool's limit of connections that changes while it works.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionLimitTests {
    @Test(.enabled(if: Tool.hasOpenSSL)) func aSurplusConnectionFinishesItsStreamsFirst() async throws {
        let peer = try await ScriptedPeer()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(peer.port, trust: peer.tls)
            configuration.connectionLimit = 1
            configuration.drainTimeout = .zero
            let pool = try engine.openPool(configuration)
            let first = await Submitted([.get], to: pool)
            try await peer.greet(maxStreams: 10)
            try peer.send(.answer(try await peer.next(Frame.headers).stream, status: 200))
            #expect(await first.exchanges().first?.status == 200)

            let slow = await Submitted([.get], to: pool)
            let stream = try await peer.next(Frame.headers).stream
            pool.setConnectionLimit(0)
            let next = await Submitted([.get], to: pool)
            try peer.send(.answer(stream, status: 200))
            #expect(await slow.exchanges().first?.status == 200)
            // The next one went over a connection of its own.
            try await peer.greet(maxStreams: 10)
            let last = try await peer.next(Frame.headers).stream
            #expect(last == 1)
            try peer.send(.answer(last, status: 200))
            #expect(await next.exchanges().first?.status == 200)
            #expect(pool.statistics.dials == 2)
        }
    }

    @Test(.enabled(if: Tool.hasNghttpd)) func thePoolShrinksAndGrowsAsItIsTold() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            var configuration = PoolConfiguration.local(server.port, trust: server.tls)
            configuration.streamLimit = 2
            configuration.connectionLimit = 6
            let pool = try engine.openPool(configuration)
            func load() async { #expect(await pool.exchange(manyGets).allSatisfy { $0.status == 200 }) }
            await load()
            #expect(pool.statistics.connections == 6)
            let dials = pool.statistics.dials

            pool.setConnectionLimit(1)
            await load()
            #expect(pool.statistics.connections == 1)
            #expect(pool.statistics.dials == dials, "what was there is enough")

            pool.setConnectionLimit(6)
            await load()
            #expect(pool.statistics.connections == 6)
            #expect(pool.statistics.dials == dials + 5)
        }
    }

    @Test(.enabled(if: Tool.hasNghttpd)) func withoutAnyConnectionARequestStillGetsOne() async throws {
        let server = try await Nghttpd()
        try await withEngine { engine in
            let pool = try engine.openPool(.local(server.port, trust: server.tls))
            pool.setConnectionLimit(0)
            #expect(await pool.exchange(manyGets).allSatisfy { $0.status == 200 })
            #expect(pool.statistics.connections == 1 && pool.statistics.dials == 1)
        }
    }

    private let manyGets = Array(repeating: Request.get, count: 2000)
}
