import FCMWire
import HTTP2Client
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import APNS
@testable import HTTP2Client
@testable import Upstream

/// What the sender tells about routes for which nothing should be taken.
@Suite(.timeLimit(.minutes(5)))
struct HeldRoutesTests {
    private static let production: [PushEnvironment: UpstreamEndpoint] = [.production: .apple(.production)]

    /// A sender whose peer's answer the test changes; `nil`: none before the test gives it.
    private final class Scene: Sendable {
        let fixture: SenderFixture
        private let exchange: Shared<Exchange?>
        private let changes = Mutex(0)

        init(_ first: Exchange?, badDeviceTokens: DoubtfulAddressLimits = DoubtfulAddressLimits()) throws {
            let exchange = Shared(first)
            self.exchange = exchange
            fixture = SenderFixture(
                transport: FakeTransport { _ in exchange.withLock { $0 } }, badDeviceTokens: badDeviceTokens)
            try fixture.sender.use([
                fixture.app(endpoints: production), fixture.app("com.example.other", endpoints: production),
            ])
            fixture.sender.onHeldRoutesChange { [weak self] in self?.changes.withLock { $0 += 1 } }
        }

        func answers(_ new: Exchange?) { exchange.withLock { $0 = new } }
        var held: [PushRoute: HeldRoute] { fixture.sender.heldRoutes }
        var changeCount: Int { changes.withLock { $0 } }
        var pool: FakePool { fixture.transport.pools[0] }
    }

    private static func route(_ app: String = "com.example.app") throws -> PushRoute { try makePush(app: app).route }

    /// Hands a push over and leaves its answer open.
    private func leaveOpen(_ batch: [Push], _ scene: Scene) async -> ReportCollector {
        let collector = ReportCollector(of: batch.count)
        await scene.fixture.sender.send(batch) { collector.take($0) }
        return collector
    }

    @Test func `A refused credential holds all routes of the upstream until a probe passes`() async throws {
        let scene = try Scene(answer(403, #"{"reason":"Forbidden"}"#))
        let routes = [try Self.route(), try Self.route("com.example.other")]
        #expect(scene.held.isEmpty)
        _ = await scene.fixture.send([try makePush(1)])
        #expect(
            scene.held == [
                routes[0]: HeldRoute(retryAfter: .seconds(30), limit: 1, isOfCredential: true),
                routes[1]: HeldRoute(retryAfter: .seconds(30), limit: 1, isOfCredential: true),
            ])
        #expect(scene.changeCount == 1)
        scene.fixture.time.advance(by: .seconds(10))
        #expect(scene.held[routes[0]]?.retryAfter == .seconds(20))
        scene.fixture.time.advance(by: .seconds(25))
        #expect(scene.held[routes[0]] == HeldRoute(retryAfter: .zero, limit: 1, isOfCredential: true))
        #expect(scene.changeCount == 1, "the passing of time is no change")
        scene.answers(nil)
        let probe = await leaveOpen([try makePush(2)], scene)
        #expect(scene.held[routes[1]] == HeldRoute(retryAfter: SendPause.answerTime, limit: 1, isOfCredential: true))
        #expect(scene.changeCount == 2)
        scene.pool.completeHeld(answer(403, #"{"reason":"Forbidden"}"#))
        await probe.wait(for: 1)
        #expect(scene.held[routes[1]] == HeldRoute(retryAfter: .seconds(60), limit: 1, isOfCredential: true))
        #expect(scene.changeCount == 3)
        scene.fixture.time.advance(by: .seconds(60))
        scene.answers(answer(200))
        _ = await scene.fixture.send([try makePush(3)])
        #expect(scene.held.isEmpty)
        #expect(scene.changeCount == 5)
    }

    @Test func `A refused topic holds its app, unless that has others`() async throws {
        let scene = try Scene(answer(400, #"{"reason":"TopicDisallowed"}"#))
        let voip = makeContent(pushType: .voip)
        _ = await scene.fixture.send([try makePush(1)])
        #expect(scene.held == [try Self.route(): HeldRoute(retryAfter: .seconds(30), limit: 1)])
        scene.answers(answer(200))
        #expect(await scene.fixture.send([try makePush(2, content: voip)]) == [.accepted])
        #expect(scene.held.isEmpty)
        // What goes by the topic is held back all the same.
        #expect(await scene.fixture.reports(of: [try makePush(3)]).map(\.isAttempt) == [false])
    }

    @Test func `A topic beside the app's own holds no route`() async throws {
        let scene = try Scene(answer(400, #"{"reason":"TopicDisallowed"}"#))
        _ = await scene.fixture.send([try makePush(1, content: makeContent(pushType: .voip))])
        #expect(scene.held.isEmpty)
    }

    @Test func `The wrong environment holds the app alone`() async throws {
        var limits = DoubtfulAddressLimits()
        limits.atLeast = 20
        let scene = try Scene(answer(400, #"{"reason":"BadDeviceToken"}"#), badDeviceTokens: limits)
        _ = await scene.fixture.send(try (0..<20).map { try makePush($0) })
        #expect(scene.held == [try Self.route(): HeldRoute(retryAfter: .seconds(30), limit: 1)])
    }

    @Test func `Retry-After holds the upstream for that long, and then needs no try`() async throws {
        let busy = [HeaderField("retry-after", "20")]
        let scene = try Scene(answer(503, #"{"reason":"ServiceUnavailable"}"#, headers: busy))
        _ = await scene.fixture.send([try makePush(1)])
        #expect(scene.held[try Self.route()] == HeldRoute(retryAfter: .seconds(20), limit: .max))
        scene.fixture.time.advance(by: .seconds(20))
        #expect(scene.held.isEmpty)
    }

    @Test func `An overload without Retry-After holds bulk pushes back while many wait for their turn`() async throws {
        let scene = try Scene(nil)
        let route = try Self.route()
        let open = await leaveOpen(try (0..<20).map { try makePush($0) }, scene)
        scene.answers(answer(503, #"{"reason":"ServiceUnavailable"}"#))
        _ = await scene.fixture.send([try makePush(20)])
        scene.answers(answer(200))
        #expect(scene.held.isEmpty, "slower, but none wait")
        let batch = try (0..<Int64(CongestionGate.crowdBegin)).map { try makePush(100 + $0) }
        let collector = ReportCollector(of: batch.count)
        let task = Task { await scene.fixture.sender.send(batch) { collector.take($0) } }
        while scene.held.isEmpty { await Task.yield() }
        let crowded = HeldRoute(
            retryAfter: SendPause.answerTime, limit: HoldRest.crowdLimit, isBulkOnly: true)
        #expect(scene.held == [route: crowded, try Self.route("com.example.other"): crowded])
        #expect(scene.changeCount == 1)
        scene.pool.completeHeld(answer(200))
        await task.value
        await open.wait(for: 20)
        await collector.wait(for: batch.count)
        #expect(collector.outcomes.allSatisfy { $0 == .accepted })
        #expect(scene.held.isEmpty)
        #expect(scene.changeCount == 2)
    }

    @Test func `An open circuit holds the upstream, a half-open one wants a few`() async throws {
        let scene = try Scene(answer(200))
        let route = try Self.route()
        func reach(_ change: (inout PoolStatistics) -> Void) {
            var statistics = PoolStatistics()
            change(&statistics)
            scene.pool.statistics = statistics
            scene.pool.configuration.reachChanged?()
        }
        reach {
            $0.circuit = .open
            $0.dialsAt = Instant.now().adding(.seconds(600))
        }
        let held = try #require(scene.held[route])
        #expect(held.retryAfter > .seconds(590) && held.retryAfter <= .seconds(600))
        #expect(scene.changeCount == 1)
        // Told again, it is the same.
        scene.pool.configuration.reachChanged?()
        #expect(scene.changeCount == 1)
        reach {
            $0.circuit = .halfOpen
            $0.dialsAt = Instant(nanoseconds: 0)
        }
        #expect(scene.held[route] == HeldRoute(retryAfter: .zero, limit: HoldRest.circuitLimit))
        reach {
            $0.circuit = .halfOpen
            $0.dialsAt = Instant(nanoseconds: 0)
            $0.isTrying = true
        }
        #expect(scene.held[route]?.retryAfter == SendPause.answerTime)
        // The other pool reaches APNs.
        var statistics = PoolStatistics()
        statistics.workingConnections = 1
        scene.fixture.transport.suspectPools[0].statistics = statistics
        scene.fixture.transport.suspectPools[0].configuration.reachChanged?()
        #expect(scene.held.isEmpty)
        #expect(scene.changeCount == 4)
    }

    @Test func `Routes that are not configured any more are not held`() async throws {
        let scene = try Scene(answer(403, #"{"reason":"Forbidden"}"#))
        _ = await scene.fixture.send([try makePush(1)])
        #expect(scene.held.count == 2)
        try scene.fixture.sender.use([scene.fixture.app(endpoints: Self.production)])
        #expect(Array(scene.held.keys) == [try Self.route()])
        #expect(scene.changeCount == 2)
    }

    // MARK: What is queued already

    @Test func `What is queued when a pause begins is given back, and was no attempt`() async throws {
        let scene = try Scene(nil)
        let queued = await leaveOpen(try (0..<50).map { try makePush($0) }, scene)
        scene.answers(answer(403, #"{"reason":"Forbidden"}"#))
        _ = await scene.fixture.send([try makePush(100, app: "com.example.other")])
        await queued.wait(for: 50)
        for report in queued.reports.values {
            #expect(report.outcome == .throttled(.forbidden, after: .seconds(30)))
            #expect(!report.isAttempt)
        }
        // The pause goes on as it would have: what was given back is no answer.
        #expect(scene.held[try Self.route()] == HeldRoute(retryAfter: .seconds(30), limit: 1, isOfCredential: true))
    }

    @Test func `A pause of a topic or an app leaves what else is queued alone`() async throws {
        let scene = try Scene(nil)
        let other = makeContent(pushType: .voip)
        let queued = await leaveOpen(
            [try makePush(1), try makePush(2, content: other), try makePush(3), try makePush(4, content: other)], scene)
        scene.answers(answer(400, #"{"reason":"TopicDisallowed"}"#))
        _ = await scene.fixture.send([try makePush(100)])
        await queued.wait(for: 2)
        #expect(queued.reports.keys.sorted() == [0, 2])
        #expect(queued.reports.values.allSatisfy { !$0.isAttempt && $0.outcome.isThrottled(.topicDisallowed) })
        scene.pool.completeHeld(answer(200))
        await queued.wait(for: 4)
        #expect(queued.reports[1]?.outcome == .accepted && queued.reports[3]?.outcome == .accepted)
    }

    @Test func `A probe that waits for a stream is not given back when another pause begins`() async throws {
        let scene = try Scene(answer(403, #"{"reason":"Forbidden"}"#))
        _ = await scene.fixture.send([try makePush(1)])
        scene.fixture.time.advance(by: .seconds(30))
        scene.answers(nil)
        let probe = await leaveOpen([try makePush(2)], scene)
        scene.pool.reconsider()
        scene.pool.completeHeld(answer(200))
        await probe.wait(for: 1)
        #expect(probe.outcomes == [.accepted])
        #expect(scene.held.isEmpty)
    }

    @Test func `A bulk batch that waits for room keeps no interactive push waiting`() async throws {
        let scene = try Scene(answer(200))
        scene.pool.fill(isUrgent: false)
        let mixed = [try makePush(1), try makePush(2, lane: .interactive), try makePush(3)]
        let collector = ReportCollector(of: 3)
        let task = Task { await scene.fixture.sender.send(mixed) { collector.take($0) } }
        await collector.wait(for: 1)
        #expect(Array(collector.reports.keys) == [1])
        scene.pool.makeRoom()
        await task.value
        await collector.wait(for: 3)
    }
}

extension Outcome {
    fileprivate func isThrottled(_ refusal: Refusal) -> Bool {
        if case .throttled(refusal, _) = self { true } else { false }
    }
}
