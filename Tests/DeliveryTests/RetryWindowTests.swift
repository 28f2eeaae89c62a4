import PushModel
import TestSupport
import Testing

@testable import Delivery

struct RetryWindowTests {
    static let tooMany = Setback.throttled(.tooManyRequests, after: nil)
    static let unavailable = Setback.throttled(.serviceUnavailable, after: nil)
    static let failed = Refusal("INTERNAL", .load(.unspecified), firstWait: .seconds(10))
    static let asked = Setback.throttled(.serviceUnavailable, after: .seconds(40))

    @Test(arguments: [
        (tooMany, 1, Duration.seconds(5), Duration.seconds(1)),
        (tooMany, 4, .seconds(5), .seconds(8)),
        (unavailable, 1, .seconds(2), .seconds(1)),
        (unavailable, 11, .seconds(2), .seconds(900)),
        (unavailable, 1_000_000, .seconds(2), .seconds(900)),
        (asked, 2, .seconds(40), .seconds(2)),
        (.throttled(.shutdown, after: nil), 1, .zero, .seconds(1)),
        (
            .throttled(Refusal("SomethingNew", .load(.unspecified), label: "other"), after: nil), 1, .seconds(1),
            .seconds(1)
        ),
        (.throttled(.expiredProviderToken, after: nil), 1, .zero, .milliseconds(100)),
        (.throttled(.expiredProviderToken, after: nil), 2, .seconds(1), .seconds(2)),
        (.throttled(.invalidProviderToken, after: nil), 1, .zero, .milliseconds(100)),
        (.throttled(.unrelatedKeyIDInToken, after: .seconds(3)), 1, .seconds(3), .milliseconds(100)),
        (.throttled(.tooManyProviderTokenUpdates, after: nil), 1, .seconds(1), .seconds(1)),
        (.throttled(failed, after: nil), 1, .seconds(5), .seconds(10)),
        (.throttled(failed, after: nil), 2, .seconds(10), .seconds(20)),
        (.throttled(failed, after: nil), 3, .seconds(20), .seconds(40)),
        (.throttled(failed, after: nil), 100, .seconds(300), .seconds(600)),
        (.throttled(failed, after: .seconds(30)), 1, .seconds(30), .seconds(10)),
        (.held(.forbidden, after: .seconds(40)), 0, .seconds(40), .seconds(5)),
        (.held(.forbidden, after: .zero), 30, .milliseconds(100), .seconds(5)),
        (.unknown(.timedOut), 3, .seconds(1), .seconds(4)),
        (.unknown(.shutdown), 17, .zero, .zero),
        (.notSent(.shutdown), 17, .zero, .zero),
        (.notSent(.refused), 1, .milliseconds(100), .seconds(1)),
        (.notSent(.connectFailed), 20, .milliseconds(100), .seconds(60)),
        (.notSent(.noRoute), 0, .seconds(15), .seconds(1)),
    ])
    func windowFollowsTheTable(setback: Setback, attempt: Int, floor: Duration, spread: Duration) {
        #expect(RetryWindow.after(setback, attempt: attempt) == RetryWindow(floor: floor, spread: spread))
    }

    @Test func theDelayLiesInTheWindow() {
        let window = RetryWindow(floor: .seconds(5), spread: .seconds(8))
        #expect(window.delay(random: 0, within: .seconds(100)) == .seconds(5))
        #expect(window.delay(random: 0.5, within: .seconds(100)) == .seconds(9))
    }

    @Test func theSpreadIsCutToTheTimeThatIsLeft() {
        let window = RetryWindow(floor: .seconds(5), spread: .seconds(8))
        #expect(window.delay(random: 0.5, within: .seconds(7)) == .seconds(6))
        #expect(window.delay(random: 0.5, within: .seconds(5)) == .seconds(5))
    }

    @Test func noDelayIsShorterThanTheFloor() {
        let window = RetryWindow(floor: .seconds(5), spread: .seconds(8))
        #expect(window.delay(random: 0, within: .seconds(4)) == nil)
        #expect(window.delay(random: 0, within: .seconds(-1)) == nil)
    }

    @Test(arguments: [(1, 50, 100), (2, 100, 200), (7, 2500, 5000), (60, 2500, 5000)])
    func theStoreIsLeftAlone(failures: Int, least: Int, most: Int) {
        #expect(StoreBackoff.delay(failures: failures, random: 0) == .milliseconds(least))
        #expect(StoreBackoff.delay(failures: failures, random: 0.999) <= .milliseconds(most))
    }
}
