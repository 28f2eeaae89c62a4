import PushModel
import TestSupport
import Testing

@testable import Upstream

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

    @Test func `What was seen last is kept with its time`() {
        var use = UpstreamUse()
        use.note([.nothing], refused: nil, at: Self.start)
        #expect(use == UpstreamUse())
        use.note([.nothing, .working], refused: nil, at: Self.start)
        use.note([problem("timed_out")], refused: nil, at: Self.start + .seconds(1))
        #expect(use.lastWorked == Self.start)
        #expect(use.lastTrouble == UpstreamTrouble(reason: "timed_out", time: Self.start + .seconds(1)))
        // Who sends is refused while other pushes get through.
        use.note([.nothing, .working], refused: "TopicDisallowed", at: Self.start + .seconds(2))
        #expect(use.lastWorked == Self.start + .seconds(2))
        #expect(use.lastTrouble == UpstreamTrouble(reason: "TopicDisallowed", time: Self.start + .seconds(2)))
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
            (.idleTimeout, .freshConnections), (.internalServerError, .none), (.shutdown, .none),
            (.serviceUnavailable, .none), (Refusal("BadPath", .push(.request)), .none),
            (Refusal("HTTP302", .connection(.misdirected)), .none),
        ] as [(Refusal, UpstreamSign.Remedy)])
    func `Answers that would meet other pushes too are problems`(refusal: Refusal, remedy: UpstreamSign.Remedy) {
        #expect(
            UpstreamSign(refusal, status: 400)
                == .problem(.init(name: refusal.reason.rawValue, detail: "status 400", remedy: remedy)))
    }

    @Test(arguments: [
        Refusal.badDeviceToken, .deviceTokenNotForTopic, .unregistered, .expiredToken, .payloadTooLarge,
        .tooManyRequests,
    ])
    func `Answers about one device or message are no problem of the upstream`(refusal: Refusal) {
        #expect(UpstreamSign(refusal, status: 400) == .working)
        #expect(UpstreamSign(nil, status: 200) == .working)
    }

    @Test(arguments: [
        Refusal.expiredProviderToken, .invalidProviderToken, .badEnvironmentKeyIDInToken, .topicDisallowed,
        .tooManyProviderTokenUpdates,
    ])
    func `Answers about credential and topic are left to the pauses`(refusal: Refusal) {
        #expect(UpstreamSign(refusal, status: 403) == .nothing)
    }
}
