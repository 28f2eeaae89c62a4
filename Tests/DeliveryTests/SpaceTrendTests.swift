import PushModel
import Testing

@testable import Delivery

/// How long a disk lasts at the rate of the last day.
@Suite(.timeLimit(.minutes(1)))
struct SpaceTrendTests {
    private static let start = Timestamp(seconds: 1_800_000_000)

    @Test func daysAreLeftAtTheRateOfTheLastDay() throws {
        var trend = SpaceTrend()
        // 240 bytes a day for a day, then 2,400 a day.
        for hour in 0...24 { trend.add(10_000 - 10 * hour, at: Self.start + .seconds(3600 * hour)) }
        #expect(try abs(#require(trend.daysLeft(until: 760)) - 37.5) < 0.01)
        for hour in 1...24 { trend.add(9760 - 100 * hour, at: Self.start + .seconds(3600 * (24 + hour))) }
        #expect(try abs(#require(trend.daysLeft(until: 160)) - 3) < 0.01, "the day before does not count")
        #expect(trend.daysLeft(until: 8000) == 0, "it is there already")
    }

    @Test func nothingIsSaidWithoutAnHourOrWithoutAFall() {
        var trend = SpaceTrend()
        #expect(trend.daysLeft(until: 0) == nil)
        for minute in 0..<60 { trend.add(1000 - minute, at: Self.start + .seconds(60 * minute)) }
        #expect(trend.daysLeft(until: 0) == nil)
        trend.add(940, at: Self.start + .seconds(3600))
        #expect(trend.daysLeft(until: 0) != nil)
        trend.add(2000, at: Self.start + .seconds(3660))
        #expect(trend.daysLeft(until: 0) == nil, "there is more than before")
        trend.add(1, at: Self.start + .seconds(-9))
        #expect(trend.daysLeft(until: 0) == nil, "a clock that was set back begins anew")
    }
}
