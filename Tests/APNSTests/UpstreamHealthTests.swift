import HTTP2Client
import PushModel
import Testing

@testable import APNS

struct UpstreamHealthTests {
    private static let start = Timestamp(seconds: 1_700_000_000)

    private func problem(_ name: String, _ remedy: UpstreamSign.Remedy = .none) -> UpstreamSign {
        .problem(.init(name: name, detail: "", remedy: remedy))
    }

    @Test func `A problem is told once when it begins and once when it ends`() {
        var health = UpstreamHealth()
        #expect(health.note([.working, .working], at: Self.start) == [])
        #expect(
            health.note([problem("a"), problem("a")], at: Self.start)
                == [.tell(.init(name: "a", detail: "", remedy: .none))])
        #expect(health.note([problem("a")], at: Self.start + .seconds(600)) == [])
        #expect(health.note([.nothing], at: Self.start + .seconds(600)) == [])
        #expect(health.note([.working], at: Self.start + .seconds(601)) == [.tellRecovery(from: "a")])
        #expect(health.note([.working], at: Self.start + .seconds(602)) == [])
    }

    @Test func `A problem that comes and goes is told once a minute`() {
        var health = UpstreamHealth()
        var told = 0
        for second in 0..<120 {
            let signs = [second % 2 == 0 ? problem("a") : .working]
            for action in health.note(signs, at: Self.start + .seconds(second)) {
                if case .tell = action { told += 1 }
            }
        }
        #expect(told == 2)
    }

    @Test func `Connections are replaced at most every 15 seconds`() {
        var health = UpstreamHealth()
        var recycles: [Int] = []
        for second in 0..<40
        where health.note([problem("a", .freshConnections)], at: Self.start + .seconds(second))
            .contains(.recycle)
        {
            recycles.append(second)
        }
        #expect(recycles == [0, 15, 30])
    }

    @Test func `A clock that was set back does not stop replacing`() {
        var health = UpstreamHealth()
        #expect(health.note([problem("a", .freshConnections)], at: Self.start).contains(.recycle))
        #expect(health.note([problem("a", .freshConnections)], at: Self.start + .seconds(-3600)).contains(.recycle))
    }

    @Test(
        arguments: [
            (400, "IdleTimeout", UpstreamSign.Remedy.freshConnections), (500, "InternalServerError", .none),
            (503, "Shutdown", .none),
            (404, "BadPath", .none), (302, "HTTP302", .none), (502, "HTTP502", .none),
        ])
    func `Answers that would meet other pushes too are problems`(
        status: Int, reason: String, remedy: UpstreamSign.Remedy
    ) {
        guard case .problem(let problem) = UpstreamSign(status: status, reason: APNSReason(rawValue: reason)) else {
            Issue.record("no problem")
            return
        }
        #expect(problem.name == reason)
        #expect(problem.remedy == remedy)
    }

    @Test(
        arguments: [
            (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (410, "Unregistered"), (410, "ExpiredToken"),
            (413, "PayloadTooLarge"), (429, "TooManyRequests"),
        ])
    func `Answers about one device or message are no problem of the upstream`(status: Int, reason: String) {
        #expect(UpstreamSign(status: status, reason: APNSReason(rawValue: reason)) == .working)
        #expect(UpstreamSign(status: 200, reason: nil) == .working)
    }

    @Test(
        arguments: [
            (403, "ExpiredProviderToken"), (403, "InvalidProviderToken"), (403, "BadEnvironmentKeyInToken"),
            (400, "TopicDisallowed"), (403, "New"), (429, "TooManyProviderTokenUpdates"),
        ])
    func `Answers about credential and topic are left to the pauses`(status: Int, reason: String) {
        #expect(UpstreamSign(status: status, reason: APNSReason(rawValue: reason)) == .nothing)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct UpstreamReactionTests {
    private let production: [APNSEnvironment: APNSEndpoint] = [.production: .apple(.production)]

    @Test func `ExpiredProviderToken renews the token, replaces the connections and lets the push come again`()
        async throws
    {
        let fixture = SenderFixture(
            transport: FakeTransport { request in
                request.body == [0] ? answer(403, #"{"reason":"ExpiredProviderToken"}"#) : answer(200)
            })
        try fixture.sender.use([fixture.app(endpoints: production)])
        let pool = fixture.transport.pools[0]
        _ = await fixture.send([try makePush(1, payload: [1])])
        fixture.time.advance(by: .seconds(600))
        let outcomes = await fixture.send(try (0..<50).map { try makePush($0, payload: [0]) })
        for outcome in outcomes {
            guard case .throttled(let reason, let pause)? = outcome else {
                Issue.record("not throttled: \(String(describing: outcome))")
                return
            }
            #expect(reason.rawValue == "ExpiredProviderToken")
            #expect((pause ?? .zero) <= .seconds(5))
        }
        #expect(pool.recycles == 1)
        _ = await fixture.send([try makePush(1, payload: [1])])
        let tokens = pool.requests.compactMap { $0.header("authorization") }
        #expect(tokens.count == 52)
        #expect(tokens[0] == tokens[50])
        #expect(tokens[51] != tokens[50])
    }

    @Test func `A 429 for tokens never makes a new one`() async throws {
        let fixture = SenderFixture(
            transport: FakeTransport { _ in answer(429, #"{"reason":"TooManyProviderTokenUpdates"}"#) })
        try fixture.sender.use([fixture.app(endpoints: production)])
        for number in 0..<20 {
            _ = await fixture.send([try makePush(Int64(number))])
            fixture.time.advance(by: .seconds(120))
        }
        let tokens = fixture.transport.pools[0].requests.compactMap { $0.header("authorization") }
        #expect(Set(tokens).count == 1)
        #expect(fixture.transport.pools[0].recycles < 20)
    }

    @Test func `A problem is logged once, without a token in the text`() async throws {
        let fixture = SenderFixture(
            transport: FakeTransport { request in
                request.body == [0] ? answer(403, #"{"reason":"InvalidProviderToken"}"#) : answer(200)
            })
        try fixture.sender.use([fixture.app(endpoints: production)])
        for _ in 0..<5 { _ = await fixture.send([try makePush(1, payload: [0]), try makePush(2, payload: [0])]) }
        fixture.time.advance(by: .seconds(30))
        _ = await fixture.send([try makePush(1, payload: [1])])
        let lines = fixture.log.all
        #expect(lines.count == 2)
        let first = try #require(lines.first)
        #expect(first.hasPrefix("warning"))
        #expect(first.contains("reason=InvalidProviderToken"))
        #expect(first.contains("upstream=api.push.apple.com:443 TEAM123456/ABC1234567"))
        #expect(try #require(lines.last).hasPrefix("notice"))
        for request in fixture.transport.pools[0].requests {
            let secrets = [request.header("authorization") ?? "", String(request.path.suffix(40))]
            for line in lines { for secret in secrets { #expect(!line.contains(secret)) } }
        }
    }

    @Test func `The token is shared by all pools of a key`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([fixture.app()])
        _ = await fixture.send([try makePush(1), try makePush(2, environment: .sandbox)])
        fixture.time.advance(by: .seconds(46 * 60))
        _ = await fixture.send([try makePush(1), try makePush(2, environment: .sandbox)])
        let tokens = fixture.transport.pools.map { $0.requests.compactMap { $0.header("authorization") } }
        #expect(tokens.count == 2)
        #expect(tokens[0] == tokens[1])
        #expect(tokens[0].count == 2 && Set(tokens[0]).count == 2)
    }
}
