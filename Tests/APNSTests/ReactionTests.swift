import HTTP2Client
import PushModel
import TestSupport
import Testing
import Upstream

@testable import APNS

@Suite(.timeLimit(.minutes(5)))
struct UpstreamReactionTests {
    private let production: [PushEnvironment: UpstreamEndpoint] = [.production: .apple(.production)]

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
            #expect(reason == .expiredProviderToken)
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
