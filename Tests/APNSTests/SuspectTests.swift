import HTTP2Client
import PushModel
import TestSupport
import Testing

@testable import APNS
@testable import Upstream

/// Pushes to device tokens that APNs has never accepted travel apart.
@Suite(.timeLimit(.minutes(5)))
struct SuspectTests {
    private let production: [PushEnvironment: UpstreamEndpoint] = [.production: .apple(.production)]

    @Test func `Each push takes the pool of its kind and is reported at its own index`() async throws {
        let transport = FakeTransport { request in
            request.body == [1] ? answer(200) : answer(400, #"{"reason":"BadDeviceToken"}"#)
        }
        let fixture = SenderFixture(transport: transport)
        try fixture.sender.use([fixture.app(endpoints: production)])
        let batch = try (0..<30).map { (number: Int) throws -> Push in
            try makePush(Int64(number), isProven: number % 3 != 0, payload: [number % 3 == 0 ? 0 : 1])
        }
        let expected = (0..<30).map { $0 % 3 == 0 ? Outcome.rejected(.badDeviceToken) : .accepted }
        #expect(await fixture.send(batch) == expected)
        #expect(transport.pools.map(\.requests.count) == [20])
        #expect(transport.suspectPools.map(\.requests.count) == [10])
        let tokens = (transport.pools + transport.suspectPools).flatMap(\.requests).compactMap {
            $0.header("authorization")
        }
        #expect(Set(tokens).count == 1, "one provider token for both")
    }

    @Test func `Suspects have a connection on top of those of the proven, and all when they are alone`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: production)])
        let proven = fixture.transport.pools[0]
        let suspects = fixture.transport.suspectPools[0]
        let limit = proven.configuration.connectionLimit
        _ = await fixture.send([try makePush(1, isProven: false)])
        #expect(suspects.connectionLimits == [limit])
        _ = await fixture.send([try makePush(2)])
        _ = await fixture.send([try makePush(3), try makePush(4, isProven: false)])
        #expect(suspects.connectionLimits == [limit, limit / 4])
        fixture.time.advance(by: ConnectionBudget.idleInterval)
        _ = await fixture.send([try makePush(5)])
        #expect(suspects.connectionLimits == [limit, limit / 4, 0])
        #expect(proven.connectionLimits == [0, limit, limit])
    }

    @Test func `Gateways that share the limit have a part of the connections each`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: production)])
        let limit = fixture.transport.pools[0].configuration.connectionLimit
        _ = await fixture.send([try makePush(1)])
        fixture.sender.divide(among: 2)
        fixture.sender.divide(among: 100)
        fixture.sender.divide(among: 1)
        #expect(fixture.transport.pools[0].connectionLimits == [limit, limit / 2, 1, limit])
        // One that is opened later keeps to its part from the beginning.
        fixture.sender.divide(among: 4)
        try fixture.sender.use([fixture.app(team: "TEAM999999", endpoints: production)])
        _ = await fixture.send([try makePush(2)])
        #expect(fixture.transport.pools[1].connectionLimits == [limit / 4])
    }

    @Test func `A full pool of suspects does not hold back the proven`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: production)])
        let full = fixture.transport.suspectPools[0]
        full.fill()
        let batch = [try makePush(1, isProven: false), try makePush(2)]
        let collector = ReportCollector(of: 2)
        let sender = fixture.sender
        async let sending: Void = sender.send(batch) { collector.take($0) }
        await collector.wait(for: 1)
        #expect(collector.outcomes == [nil, .accepted])
        full.makeRoom()
        await sending
        await collector.wait(for: 2)
    }

    @Test func `Both are replaced, closed and counted together`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: production)])
        let pools = fixture.transport.pools + fixture.transport.suspectPools
        for pool in pools {
            var statistics = PoolStatistics()
            statistics.connections = 2
            statistics.streamLimit = 100
            statistics.streamsInUse = 7
            statistics.queued = 3
            pool.statistics = statistics
        }
        let status = try #require(fixture.sender.upstreams.first)
        #expect(fixture.sender.upstreams.count == 1)
        #expect(status.connections == 4 && status.streamLimit == 200 && status.streamsInUse == 14)
        #expect(status.queued == 6)
        try fixture.sender.use([
            fixture.app(endpoints: production), fixture.app("com.example.b", endpoints: production),
        ])
        #expect(pools.map(\.recycles) == [1, 1])
        try fixture.sender.use([])
        for pool in pools { await pool.waitUntilClosed() }
    }

    @Test func `A single connection is for all`() throws {
        let transport = FakeTransport()
        var configuration = PoolConfiguration(host: "localhost", port: 443)
        configuration.connectionLimit = 1
        let pools = try UpstreamPools(configuration, transport: transport)
        let batch = [try makePush(1), try makePush(2, isProven: false)]
        let parts = pools.parts(of: [0, 1], in: batch, at: Timestamp(seconds: 1))
        #expect(parts.map(\.indices) == [[0, 1]])
        #expect(transport.pools.map(\.connectionLimits) == [[]] && transport.suspectPools.isEmpty)
    }
}
