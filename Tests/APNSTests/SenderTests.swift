import Crypto
import HTTP2Client
import PushModel
import TestSupport
import Testing

@testable import APNS
@testable import Upstream

@Suite(.timeLimit(.minutes(5)))
struct SenderTests {
    @Test func `A batch over several pools is grouped and every index is reported once`() async throws {
        let fixture = SenderFixture()
        let other = P256.Signing.PrivateKey()
        try fixture.sender.use([
            fixture.app(), fixture.app("com.example.other", team: "TEAM999999", signer: other),
        ])
        #expect(fixture.transport.pools.count == 4)
        let batch = try (0..<100).map { (number: Int) throws -> Push in
            let app = number % 3 == 0 ? "com.example.other" : "com.example.app"
            return try makePush(Int64(number), app: app, environment: number % 2 == 0 ? .production : .sandbox)
        }
        let collector = ReportCollector(of: 100)
        await fixture.sender.send(batch) { collector.take($0) }
        await collector.wait(for: 100)
        #expect(collector.outcomes.allSatisfy { $0 == .accepted })
        #expect(collector.calls > 4)
        #expect(collector.reports.values.allSatisfy { $0.latency == .milliseconds(7) })
        #expect(fixture.transport.pools.map(\.batches) == [1, 1, 1, 1])
        for pool in fixture.transport.pools {
            #expect(Set(pool.requests.compactMap { $0.header("authorization") }).count == 1)
        }
        let tokens = Set(fixture.transport.pools.flatMap(\.requests).compactMap { $0.header("authorization") })
        #expect(tokens.count == 2)
    }

    @Test func `Reports go to the index of their own push`() async throws {
        let transport = FakeTransport { request in
            request.body == [1] ? answer(200) : .notSent(TransportFailure(.connectFailed, "down"))
        }
        let fixture = SenderFixture(transport: transport)
        try fixture.sender.use([fixture.app()])
        let batch = try (0..<20).map { (number: Int) throws -> Push in
            let environment: PushEnvironment = number % 4 < 2 ? .production : .sandbox
            return try makePush(Int64(number), environment: environment, payload: [UInt8(number % 2)])
        }
        let outcomes = await fixture.send(batch)
        let expected = (0..<20).map { number -> Outcome? in
            number % 2 == 1 ? .accepted : .notSent(.connectFailed)
        }
        #expect(outcomes == expected)
    }

    @Test func `What another gateway may have by now is given back and not sent`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app()])
        let batch = try (0..<3).map { (number: Int64) throws -> Push in
            let push = try makePush(number)
            return Push(
                route: push.route, lane: push.lane, address: push.address, isProven: true, content: push.content,
                payload: push.payload, id: push.id, mayLeave: { false })
        }
        let reports = await fixture.reports(of: batch)
        #expect(reports.map(\.outcome) == Array(repeating: .notSent(.leaseOver), count: 3))
        #expect(reports.allSatisfy { !$0.isAttempt })
        #expect(fixture.transport.pools.allSatisfy { $0.requests.isEmpty })
        #expect(await fixture.send([try makePush(9)]) == [.accepted])
    }

    @Test func `Apps with the same endpoint, key and trust share a pool, others do not`() throws {
        let fixture = SenderFixture()
        let local = UpstreamEndpoint(host: "127.0.0.1", port: 2197)
        try fixture.sender.use([
            fixture.app("com.example.a", endpoints: [.production: local, .sandbox: local]),
            fixture.app("com.example.b", endpoints: [.production: local]),
        ])
        #expect(fixture.transport.pools.count == 1)
        #expect(fixture.sender.upstreams.map(\.name) == ["127.0.0.1:2197 TEAM123456/ABC1234567"])
        #expect(fixture.sender.upstreams.map(\.projects.count) == [1])
        try fixture.sender.use([
            fixture.app("com.example.a", endpoints: [.production: local]),
            fixture.app("com.example.b", trust: "/ca.pem", endpoints: [.production: local]),
            fixture.app("com.example.c", key: "XYZ1234567", endpoints: [.production: local]),
            fixture.app("com.example.d", signer: P256.Signing.PrivateKey(), endpoints: [.production: local]),
        ])
        #expect(fixture.transport.pools.count == 4)
        #expect(fixture.transport.pools.map(\.configuration.trust) == [.system, .file("/ca.pem"), .system, .system])
    }

    @Test func `Pushes without a way end as no_route, the others go`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: [.production: .apple(.production)])])
        let batch = [
            try makePush(1), try makePush(2, app: "com.example.unknown"), try makePush(3, environment: .sandbox),
        ]
        #expect(await fixture.send(batch) == [.accepted, .notSent(.noRoute), .notSent(.noRoute)])
        try fixture.sender.use([])
        #expect(await fixture.send(batch) == [.notSent(.noRoute), .notSent(.noRoute), .notSent(.noRoute)])
        #expect(await fixture.send([]) == [])
    }

    @Test func `A full pool does not hold back another one`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([
            fixture.app(endpoints: [.production: .apple(.production)]),
            fixture.app("com.example.other", team: "TEAM999999", endpoints: [.production: .apple(.production)]),
        ])
        let full = fixture.transport.pools[0]
        full.fill()
        let batch = [try makePush(1), try makePush(2, app: "com.example.other"), try makePush(3)]
        let collector = ReportCollector(of: 3)
        let sender = fixture.sender
        async let sending: Void = sender.send(batch) { collector.take($0) }
        await collector.wait(for: 1)
        #expect(collector.outcomes == [nil, .accepted, nil])
        full.makeRoom()
        await sending
        await collector.wait(for: 3)
        #expect(collector.outcomes == [.accepted, .accepted, .accepted])
    }

    @Test func `An upstream's status is the sum of its pools'`() throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: [.production: .apple(.production)])])
        let pool = fixture.transport.pools[0]
        #expect(try #require(fixture.sender.upstreams.first).isReachable)
        var statistics = PoolStatistics()
        statistics.lastFailure = "connection refused"
        statistics.queued = 12
        statistics.circuit = .halfOpen
        statistics.failedDials = 6
        statistics.goAwaysByReason = ["Shutdown": 2]
        pool.statistics = statistics
        let status = try #require(fixture.sender.upstreams.first)
        #expect(status.name == "api.push.apple.com:443 TEAM123456/ABC1234567")
        #expect(!status.isReachable)
        #expect(status.lastFailure == "connection refused")
        #expect(status.queued == 12)
        #expect(status.circuit == .halfOpen)
        #expect(status.failedDials == 6)
        #expect(status.goAways == ["Shutdown": 2])
        #expect(status.queueLimit == 4 * pool.configuration.queueLimit)
        statistics.connections = 1
        pool.statistics = statistics
        #expect(try #require(fixture.sender.upstreams.first).isReachable)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct WaysTests {
    private let production: [PushEnvironment: UpstreamEndpoint] = [.production: .apple(.production)]

    @Test func `A pool that stays keeps its connections and its token, one that goes is closed`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([
            fixture.app(endpoints: production), fixture.app("com.example.b", team: "TEAM999999", endpoints: production),
        ])
        _ = await fixture.send([try makePush()])
        fixture.time.advance(by: .seconds(60))
        try fixture.sender.use([fixture.app(endpoints: production)])
        #expect(fixture.transport.pools.count == 2)
        await fixture.transport.pools[1].waitUntilClosed()
        #expect(!fixture.transport.pools[0].isClosed)
        #expect(fixture.transport.pools[0].recycles == 0)
        _ = await fixture.send([try makePush(2)])
        let tokens = fixture.transport.pools[0].requests.compactMap { $0.header("authorization") }
        #expect(tokens.count == 2 && Set(tokens).count == 1)
        #expect(fixture.sender.upstreams.count == 1)
    }

    @Test func `A push that waited for its stream while the token was renewed carries the new one`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: production)])
        let pool = fixture.transport.pools[0]
        _ = await fixture.send([try makePush(1)])
        pool.fill(isUrgent: false)
        let waiting = Task { await fixture.send([try makePush(2)]) }
        while pool.requests.count < 2 { await Task.yield() }
        fixture.time.advance(by: .seconds(46 * 60))
        _ = await fixture.send([try makePush(3, lane: .interactive)])
        pool.makeRoom()
        #expect(try await waiting.value == [.accepted])
        let tokens = pool.opened.compactMap { $0.header("authorization") }
        #expect(tokens.count == 3)
        #expect(tokens[0] != tokens[1])
        #expect(tokens[2] == tokens[1], "never the old token after the new one")
    }

    @Test func `Pushes in flight over a pool that goes are still reported`() async throws {
        let fixture = SenderFixture(transport: FakeTransport { _ in nil })
        try fixture.sender.use([fixture.app(endpoints: production)])
        let collector = ReportCollector(of: 1)
        await fixture.sender.send([try makePush()]) { collector.take($0) }
        try fixture.sender.use([])
        await collector.wait(for: 1)
        #expect(collector.outcomes == [.unknown(.shutdown)])
    }

    @Test func `A kept pool gets new connections when it begins to serve another app`() throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app(endpoints: production)])
        try fixture.sender.use([
            fixture.app(endpoints: production), fixture.app("com.example.b", endpoints: production),
        ])
        #expect(fixture.transport.pools.map(\.recycles) == [1])
        try fixture.sender.use([fixture.app("com.example.b", endpoints: production)])
        #expect(fixture.transport.pools.map(\.recycles) == [1])
    }

    @Test func `A trust file that can't be read changes nothing and names app and field`() async throws {
        let fixture = SenderFixture(transport: FakeTransport(unreadableFile: "/missing.pem"))
        try fixture.sender.use([fixture.app(endpoints: production)])
        let error = try #require(throws: APNSConfigurationError.self) {
            try fixture.sender.use([
                fixture.app("com.example.b", team: "TEAM999999", endpoints: production),
                fixture.app("com.example.c", trust: "/missing.pem", endpoints: production),
            ])
        }
        #expect(error.app.rawValue == "com.example.c")
        #expect(error.field == "trust")
        #expect(error.message.contains("/missing.pem"))
        #expect(fixture.sender.upstreams.count == 1)
        await fixture.transport.pools[1].waitUntilClosed()
        #expect(await fixture.send([try makePush()]) == [.accepted])
    }

    @Test func `Ways that are set by many callers at once leave exactly the pools in force open`() async throws {
        let fixture = SenderFixture()
        let sets = try (0..<16).map { [try fixture.app(key: "KEY\($0)", endpoints: production)] }
        let sender = fixture.sender
        try await withThrowingTaskGroup(of: Void.self) { group in
            for apps in sets { group.addTask { try sender.use(apps) } }
            try await group.waitForAll()
        }
        #expect(sender.upstreams.count == 1)
        _ = await fixture.send([try makePush()])
        let inForce = fixture.transport.pools.filter { !$0.requests.isEmpty }
        #expect(inForce.count == 1)
        for pool in fixture.transport.pools where pool !== inForce[0] { await pool.waitUntilClosed() }
        #expect(!inForce[0].isClosed)
    }

    @Test func `After shutdown every push ends and nothing is opened`() async throws {
        let fixture = SenderFixture(transport: FakeTransport { _ in nil })
        try fixture.sender.use([fixture.app(endpoints: production)])
        let collector = ReportCollector(of: 1)
        await fixture.sender.send([try makePush()]) { collector.take($0) }
        await fixture.sender.shutdown(within: .seconds(1))
        await collector.wait(for: 1)
        #expect(collector.outcomes == [.unknown(.shutdown)])
        #expect(fixture.transport.isShutDown)
        #expect(await fixture.send([try makePush()]) == [.notSent(.shutdown)])
        try fixture.sender.use([fixture.app(endpoints: production)])
        #expect(fixture.transport.pools.count == 1)
        #expect(fixture.sender.upstreams.isEmpty)
    }
}
