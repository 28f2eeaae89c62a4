import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1)))
struct RecentReasonsTests {
    private let demo = ProjectID(rawValue: "demo")!
    private let other = ProjectID(rawValue: "other")!
    private let start = Timestamp(seconds: 1_767_323_040)
    private let clock = TestClock()

    private var now: Timestamp { start + clock.now.offset }

    @Test func reasonsAreCountedForAnHourTheMostFrequentFirst() {
        var reasons = RecentReasons()
        reasons.count(demo, .rejected, "BadDeviceToken", at: now)
        clock.advance(by: .seconds(600))
        for _ in 0..<2 { reasons.count(demo, .rejected, "Unregistered", at: now) }
        reasons.count(demo, .expired, "timeout", at: now)
        #expect(
            reasons.counts(of: demo, at: now) == [
                ReasonCount(outcome: .rejected, reason: "Unregistered", count: 2),
                ReasonCount(outcome: .rejected, reason: "BadDeviceToken", count: 1),
                ReasonCount(outcome: .expired, reason: "timeout", count: 1),
            ])
        clock.advance(by: .seconds(49 * 60))
        #expect(reasons.counts(of: demo, at: now).count == 3)
        clock.advance(by: .seconds(60))
        #expect(reasons.counts(of: demo, at: now).map(\.reason) == ["Unregistered", "timeout"])
        clock.advance(by: .seconds(600))
        #expect(reasons.counts(of: demo, at: now) == [])
    }

    @Test func aMinuteAnHourLaterTakesThePlaceOfTheFormerOne() {
        var reasons = RecentReasons()
        reasons.count(demo, .rejected, "BadDeviceToken", at: now)
        let first = now
        clock.advance(by: .seconds(3600))
        reasons.count(demo, .rejected, "Unregistered", at: now)
        reasons.count(demo, .rejected, "BadDeviceToken", at: first)
        #expect(
            reasons.counts(of: demo, at: now) == [ReasonCount(outcome: .rejected, reason: "Unregistered", count: 1)])
    }

    @Test func aProjectSeesItsOwnReasonsAlone() {
        var reasons = RecentReasons()
        reasons.count(demo, .rejected, "BadDeviceToken", at: now)
        reasons.count(other, .expired, "timeout", at: now)
        #expect(reasons.counts(of: other, at: now).map(\.reason) == ["timeout"])
    }

    @Test func anEndThatIsNotAcceptedIsCountedWithItsLabel() throws {
        let metrics = DeliveryMetrics(inFlightLimit: 10, refusals: .sample)
        let message = try #require(MessageID(rawValue: "m"))
        let delivery = ClaimedDelivery(
            message: message, project: demo, acceptedAt: now, expiresAt: now + .seconds(60),
            registration: DeliveryRegistration(Sample.registration(1)), page: nil, history: AttemptHistory())
        func settlement(_ outcome: LedgerOutcome, _ reason: String?) -> Settlement {
            let entry = LedgerEntry(
                outcome: outcome, reason: reason, verdict: nil, history: AttemptHistory(attempts: 1), time: now,
                latencyMilliseconds: 1, pushID: PushID(message: message, registration: RegistrationKey(rawValue: 1)))
            return Settlement(delivery: delivery, result: .ended(entry))
        }
        metrics.count([
            settlement(.accepted, nil), settlement(.rejected, "BadDeviceToken"),
            settlement(.rejected, "Never heard of"),
        ])
        let counts = metrics.recentReasons(of: demo, at: now)
        #expect(counts.map(\.reason).sorted() == ["BadDeviceToken", "other"])
        #expect(counts.allSatisfy { $0.outcome == .rejected && $0.count == 1 })
    }
}
