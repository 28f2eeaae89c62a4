import HTTP2Client
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import APNS
@testable import Upstream

/// A sender over the fake transport: what it holds back, probes and lets go.
@Suite(.timeLimit(.minutes(5)))
struct UpstreamPauseTests {
    private static let production: [PushEnvironment: UpstreamEndpoint] = [.production: .apple(.production)]

    /// A peer whose answer the test changes.
    private final class Peer: Sendable {
        private let exchange: Mutex<Exchange>

        init(_ exchange: Exchange) {
            self.exchange = Mutex(exchange)
        }

        func answers(_ new: Exchange) { exchange.withLock { $0 = new } }
        var now: Exchange { exchange.withLock { $0 } }
    }

    private func fixture(
        _ first: Exchange, badDeviceTokens: DoubtfulAddressLimits = DoubtfulAddressLimits()
    ) throws -> (SenderFixture, Peer, FakePool) {
        let peer = Peer(first)
        let fixture = SenderFixture(
            transport: FakeTransport { _ in peer.now }, badDeviceTokens: badDeviceTokens)
        try fixture.sender.use([fixture.app(endpoints: Self.production)])
        return (fixture, peer, fixture.transport.pools[0])
    }

    @Test func `What is held back is throttled, no attempt, and never sent`() async throws {
        let (fixture, _, pool) = try fixture(answer(403, #"{"reason":"BadEnvironmentKeyIdInToken"}"#))
        let batch = try (0..<10).map { try makePush($0) }
        let first = await fixture.reports(of: batch)
        #expect(first.allSatisfy { $0.isAttempt && $0.outcome == .throttled(.badEnvironmentKeyIDInToken, after: nil) })
        let second = await fixture.reports(of: batch)
        #expect(
            second.allSatisfy {
                !$0.isAttempt && $0.outcome == .throttled(.badEnvironmentKeyIDInToken, after: .seconds(30))
            })
        #expect(pool.requests.count == 10)
        let pause = try #require(fixture.sender.upstreams.first?.pauses.first)
        #expect(pause.part == .everything && pause.reason == "BadEnvironmentKeyIdInToken")
        #expect(fixture.log.all.count == 1)
    }

    @Test func `A new 403 pauses the upstream and fails no message`() async throws {
        let (fixture, peer, pool) = try fixture(answer(403, #"{"reason":"ReasonOfNextYear"}"#))
        let batch = [try makePush(1), try makePush(2)]
        let reason = Refusal.apns(403, "ReasonOfNextYear")
        #expect(await fixture.send(batch) == [.throttled(reason, after: nil), .throttled(reason, after: nil)])
        fixture.time.advance(by: .seconds(30))
        peer.answers(answer(200))
        #expect(await fixture.send(batch).count { $0 == .accepted } == 1)
        #expect(await fixture.send(batch) == [.accepted, .accepted])
        #expect(pool.requests.count == 5)
        let warnings = fixture.log.all.filter { $0.hasPrefix("warning") }
        #expect(warnings.count == 2 && warnings.allSatisfy { $0.contains("ReasonOfNextYear") })
    }

    @Test(arguments: [201, 202, 204, 299])
    func `A success that APNs does not document is accepted, with one warning`(status: Int) async throws {
        let (fixture, _, _) = try fixture(answer(status))
        for _ in 0..<3 { #expect(await fixture.send([try makePush(1)]) == [.accepted]) }
        let line = try #require(fixture.log.all.first)
        #expect(fixture.log.all.count == 1)
        #expect(line.hasPrefix("warning") && line.contains("status=\(status)"))
        #expect(fixture.sender.upstreams.first?.paceLimit == nil)
    }

    @Test func `A reason is made harmless before it is logged`() async throws {
        let reason = #"Bad\n\u001b[31m"# + String(repeating: "x", count: 500)
        let (fixture, _, _) = try fixture(answer(400, #"{"reason":"\#(reason)"}"#))
        _ = await fixture.send([try makePush(1)])
        let line = try #require(fixture.log.all.first)
        #expect(line.contains("reason=Bad??[31mxxx"))
        #expect(line.utf8.count < 250)
    }

    @Test func `After a pause the rest comes slowly, and nothing is lost`() async throws {
        let (fixture, peer, pool) = try fixture(answer(403, #"{"reason":"Forbidden"}"#))
        _ = await fixture.send([try makePush(1)])
        fixture.time.advance(by: .seconds(30))
        peer.answers(answer(200))
        #expect(await fixture.send([try makePush(1)]) == [.accepted])
        let batches = pool.batches
        let all = await fixture.send(try (0..<500).map { try makePush($0) })
        #expect(all.allSatisfy { $0 == .accepted })
        // In pieces that grow, not at once.
        #expect(pool.batches - batches > 5)
    }

    @Test func `An overload slows the upstream down, and Retry-After stops it for that long`() async throws {
        let (fixture, peer, pool) = try fixture(answer(503, #"{"reason":"ServiceUnavailable"}"#))
        _ = await fixture.send(try (0..<100).map { try makePush($0) })
        let limit = try #require(fixture.sender.upstreams.first?.paceLimit)
        #expect((1...50).contains(limit))
        fixture.time.advance(by: .seconds(2))
        peer.answers(
            answer(503, #"{"reason":"ServiceUnavailable"}"#, headers: [HeaderField("retry-after", "20")]))
        _ = await fixture.send([try makePush(1)])
        let sent = pool.requests.count
        fixture.time.advance(by: .seconds(5))
        let held = await fixture.reports(of: [try makePush(1)])
        #expect(held.map(\.outcome) == [.throttled(.serviceUnavailable, after: .seconds(15))])
        #expect(held.map(\.isAttempt) == [false] && pool.requests.count == sent)
        fixture.time.advance(by: .seconds(15))
        peer.answers(answer(200))
        #expect(await fixture.send(try (0..<100).map { try makePush($0) }).allSatisfy { $0 == .accepted })
    }

    @Test func `What waits for the pace ends when the sender stops`() async throws {
        let peer = Peer(answer(503, #"{"reason":"ServiceUnavailable"}"#))
        let fixture = SenderFixture(transport: FakeTransport { $0.body == [0] ? nil : peer.now })
        try fixture.sender.use([fixture.app(endpoints: Self.production)])
        _ = await fixture.send([try makePush(1), try makePush(2)])
        let limit = try #require(fixture.sender.upstreams.first?.paceLimit)
        let stuck = ReportCollector(of: limit)
        await fixture.sender.send(try (0..<limit).map { try makePush(Int64($0), payload: [0]) }) { stuck.take($0) }
        let waiting = ReportCollector(of: 5)
        let task = Task {
            let batch = try (0..<5).map { try makePush($0) }
            await fixture.sender.send(batch) { waiting.take($0) }
        }
        await fixture.sender.shutdown(within: .zero)
        await waiting.wait(for: 5)
        await stuck.wait(for: limit)
        try await task.value
        #expect(waiting.outcomes.allSatisfy { $0 == .notSent(.shutdown) || $0 == .notSent(.noRoute) })
    }

    @Test func `A device that gets too many is left alone, the others are not`() async throws {
        let fixture = SenderFixture(
            transport: FakeTransport {
                $0.body == [0] ? answer(429, #"{"reason":"TooManyRequests"}"#) : answer(200)
            })
        try fixture.sender.use([fixture.app(endpoints: Self.production)])
        let batch = [try makePush(1, payload: [0]), try makePush(2, payload: [1])]
        #expect(await fixture.send(batch) == [.throttled(.tooManyRequests, after: nil), .accepted])
        let second = await fixture.reports(of: batch)
        #expect(second.map(\.outcome) == [.throttled(.tooManyRequests, after: .seconds(5)), .accepted])
        #expect(second.map(\.isAttempt) == [false, true])
        #expect(fixture.sender.upstreams.first?.paceLimit == nil)
    }

    @Test func `The wrong environment stops the app, and nothing more is refused`() async throws {
        var limits = DoubtfulAddressLimits()
        limits.atLeast = 20
        let (fixture, peer, pool) = try fixture(
            answer(400, #"{"reason":"BadDeviceToken"}"#), badDeviceTokens: limits)
        let batch = try (0..<20).map { try makePush($0) }
        #expect(await fixture.send(batch).allSatisfy { $0 == .rejected(.badDeviceToken) })
        let held = await fixture.reports(of: batch)
        #expect(held.allSatisfy { !$0.isAttempt && $0.outcome == .throttled(.badDeviceToken, after: .seconds(30)) })
        let line = try #require(fixture.log.all.first)
        #expect(line.contains("of the last 20 pushes for com.example.app to production 20 were refused"))
        fixture.time.advance(by: .seconds(30))
        peer.answers(answer(200))
        #expect(await fixture.send(batch).count { $0 == .accepted } == 1)
        #expect(await fixture.send(batch).allSatisfy { $0 == .accepted })
        #expect(pool.requests.count == 41)
        #expect(pool.recycles == 0)
    }

    @Test func `During a pause one push that is waited for is the probe, and the others wait for it`() async throws {
        let peer = Peer(answer(403, #"{"reason":"Forbidden"}"#))
        let transport = FakeTransport { $0.body == [0] ? nil : peer.now }
        let fixture = SenderFixture(transport: transport)
        try fixture.sender.use([fixture.app(endpoints: Self.production)])
        let pool = transport.pools[0]
        _ = await fixture.send([try makePush(1)])
        let awaited = try (2..<6).map { try makePush($0, lane: .interactive, isAwaited: true, payload: [0]) }
        // The refusal is news: it is told.
        #expect(await fixture.reports(of: [awaited[0]]).map(\.isBeingProbed) == [false])
        fixture.time.advance(by: .seconds(1))
        let probe = ReportCollector(of: 1)
        await fixture.sender.send([awaited[0]]) { probe.take($0) }
        let others = await fixture.reports(of: Array(awaited[1...]))
        #expect(others.allSatisfy { !$0.isAttempt && $0.isBeingProbed })
        #expect(await fixture.reports(of: [try makePush(9)]).allSatisfy { !$0.isAttempt })
        pool.completeHeld(answer(200))
        await probe.wait(for: 1)
        #expect(probe.outcomes == [.accepted])
        #expect(fixture.sender.upstreams.first?.pauses == [])
        #expect(pool.requests.count == 2 && pool.recycles == 0)
    }

    @Test func `In ten minutes of nothing but 500 arrivals become few, and no connection is replaced from here`()
        async throws
    {
        let (fixture, peer, pool) = try fixture(answer(500, #"{"reason":"InternalServerError"}"#))
        let batch = try (0..<50).map { try makePush($0) }
        var arrivals: [Int] = []
        for _ in 0..<10 {
            let before = pool.requests.count
            for _ in 0..<60 {
                _ = await fixture.send(batch)
                fixture.time.advance(by: .seconds(1))
            }
            arrivals.append(pool.requests.count - before)
        }
        #expect(arrivals[0] < 600 && arrivals[1...].allSatisfy { $0 <= 3 }, "\(arrivals)")
        #expect(pool.recycles == 0)
        let held = fixture.sender.heldRoutes[batch[0].route]
        #expect(held?.limit == 1, "one is wanted, to try")
        // One good answer, and it goes on: a probe at most a minute later.
        peer.answers(answer(200))
        fixture.time.advance(by: .seconds(60))
        for _ in 0..<3 { _ = await fixture.send(batch) }
        #expect(await fixture.send(batch).allSatisfy { $0 == .accepted })
        #expect(fixture.sender.heldRoutes.isEmpty)
    }

    @Test func `In ten minutes of refused token updates five connections are replaced, and little is sent`()
        async throws
    {
        let (fixture, peer, pool) = try fixture(answer(429, #"{"reason":"TooManyProviderTokenUpdates"}"#))
        let batch = try (0..<50).map { try makePush($0) }
        var replaced: [Int] = []
        for second in 0..<600 {
            let before = pool.recycles
            _ = await fixture.send(batch)
            if pool.recycles > before { replaced.append(second) }
            fixture.time.advance(by: .seconds(1))
        }
        #expect(replaced.count <= 5, "\(replaced)")
        #expect(zip(replaced, replaced.dropFirst()).map { $1 - $0 }.dropFirst().allSatisfy { $0 >= 60 }, "\(replaced)")
        #expect(pool.requests.count < 150)
        #expect(fixture.sender.upstreams.first?.pauses.map(\.reason) == ["TooManyProviderTokenUpdates"])
        #expect(Set(pool.requests.compactMap { $0.header("authorization") }).count == 1)
        peer.answers(answer(200))
        fixture.time.advance(by: .seconds(300))
        _ = await fixture.send(batch)
        #expect(await fixture.send(batch).allSatisfy { $0 == .accepted })
    }

    @Test func `450 invented registrations in a topic delay no proven device`() async throws {
        let transport = FakeTransport { request in
            request.body == [0] ? answer(400, #"{"reason":"BadDeviceToken"}"#) : answer(200)
        }
        let fixture = SenderFixture(transport: transport)
        try fixture.sender.use([fixture.app(endpoints: Self.production)])
        #expect(await fixture.send([try makePush(1, payload: [1])]) == [.accepted])
        let invented = try (0..<450).map { try makePush($0 + 100, isProven: false, payload: [0]) }
        for proven in 2..<5 as Range<Int64> {
            let reports = await fixture.reports(of: invented + [try makePush(proven, payload: [1])])
            #expect(reports.last?.outcome == .accepted)
            #expect(fixture.sender.heldRoutes.isEmpty)
        }
        #expect(fixture.sender.upstreams.first?.pauses.map(\.part) == [.suspects(invented[0].route)])
        #expect(transport.suspectPools[0].requests.count == 450, "what followed was held back")
        let line = try #require(fixture.log.all.first)
        #expect(line.contains("to device tokens that APNs has never accepted"))
    }

    @Test func `The clock is held against the answers' dates`() async throws {
        // 1_700_000_000 is Tue, 14 Nov 2023 22:13:20 GMT.
        let peer = Peer(answer(200, headers: [HeaderField("date", "Tue, 14 Nov 2023 22:10:20 GMT")]))
        let fixture = SenderFixture(transport: FakeTransport { _ in peer.now })
        try fixture.sender.use([fixture.app(endpoints: Self.production)])
        #expect(fixture.sender.upstreams.first?.clockSkew == nil)
        for _ in 0..<3 { _ = await fixture.send([try makePush(1)]) }
        #expect(fixture.sender.upstreams.first?.clockSkew == .seconds(180))
        #expect(fixture.log.all.count == 1)
        #expect(try #require(fixture.log.all.first).contains("skew=180 s"))
        fixture.time.advance(by: .seconds(1))
        peer.answers(answer(200, headers: [HeaderField("date", "Tue, 14 Nov 2023 22:13:21 GMT")]))
        _ = await fixture.send([try makePush(1)])
        #expect(fixture.sender.upstreams.first?.clockSkew == .zero)
        #expect(fixture.log.all.count == 2)
        #expect(fixture.transport.pools[0].configuration.sampledFields == ["date"])
    }

    @Test(arguments: [3600, -3600] as [Int64])
    func `A wall clock that was set makes a new token, and new connections for it`(seconds: Int64) async throws {
        let (fixture, _, pool) = try fixture(answer(200))
        _ = await fixture.send([try makePush(1)])
        fixture.time.advance(by: .seconds(600))
        fixture.time.setWallTime(ahead: .seconds(seconds))
        _ = await fixture.send([try makePush(1)])
        #expect(Set(pool.requests.compactMap { $0.header("authorization") }).count == 2)
        #expect(pool.recycles == 1)
    }

    @Test func `The token that is replaced in time keeps the connections`() async throws {
        let (fixture, _, pool) = try fixture(answer(200))
        _ = await fixture.send([try makePush(1)])
        fixture.time.advance(by: .seconds(46 * 60))
        _ = await fixture.send([try makePush(1)])
        #expect(Set(pool.requests.compactMap { $0.header("authorization") }).count == 2)
        #expect(pool.recycles == 0)
    }
}
