import PushModel
import Testing

@testable import Delivery

/// When a lane reads the store's offers.
struct StoreOffersTests {
    private let now = Sample.start

    private func known(next: Timestamp? = nil) -> StoreOffers {
        var offers = StoreOffers()
        _ = offers.beginReading()
        offers.read(isTruncated: false, next: next, at: now)
        return offers
    }

    @Test func theyAreReadOnceAtATime() {
        var offers = StoreOffers()
        let (first, second) = (offers.beginReading(), offers.beginReading())
        #expect(first && !second)
    }

    @Test func knownOffersAreReadAgainAfterAMinute() {
        var offers = known()
        #expect(offers.wakeUp == now + .seconds(60))
        offers.advance(to: now + .milliseconds(59_999))
        let early = offers.beginReading()
        offers.advance(to: now + .seconds(60))
        let late = offers.beginReading()
        #expect(!early && late)
    }

    @Test func aChangeDuringAReadingHasThemReadAgain() {
        var offers = StoreOffers()
        _ = offers.beginReading()
        offers.invalidate()
        offers.read(isTruncated: true, next: nil, at: now)
        let again = offers.beginReading()
        #expect(again && offers.isTruncated && offers.readings == 1)
    }

    @Test func aFailedReadingIsRepeated() {
        var offers = StoreOffers()
        _ = offers.beginReading()
        offers.failed()
        let again = offers.beginReading()
        #expect(again && offers.readings == 0)
    }

    @Test func theEarliestDueDeliveryHasThemRead() {
        var offers = known(next: now + .seconds(9))
        offers.expect(now + .seconds(4))
        offers.expect(now + .seconds(6))
        #expect(offers.wakeUp == now + .seconds(4))
        offers.advance(to: now + .seconds(4))
        let isRead = offers.beginReading()
        #expect(isRead)
    }
}
