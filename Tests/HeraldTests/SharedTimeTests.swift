import PushModel
import Testing

@testable import herald

/// The clock that gateways share.
struct SharedTimeTests {
    @Test func itGoesOnByItselfAndFollowsTheStore() throws {
        let time = SharedTime(Timestamp(milliseconds: 5000))
        let first = try #require(time.now)
        #expect(first >= Timestamp(milliseconds: 5000))
        // Another server, whose clock is an hour behind, was asked a minute ago.
        time.update(to: Timestamp(milliseconds: 1000), asked: .now - .seconds(60))
        let second = try #require(time.now)
        #expect(second >= Timestamp(milliseconds: 61_000) && second < Timestamp(milliseconds: 61_000 + 3_600_000))
    }

    @Test func aStoreOfItsOwnHasNone() {
        #expect(SharedTime(nil).now == nil)
    }
}
