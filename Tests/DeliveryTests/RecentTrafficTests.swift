import PushModel
import Store
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1)))
struct RecentTrafficTests {
    private let demo = ProjectID(rawValue: "demo")!
    private let other = ProjectID(rawValue: "other")!
    /// The beginning of a minute, a quarter and two hours.
    private let start = Timestamp(seconds: 1_767_312_000)

    @Test func endsAreCountedInTheStepsOfEachSpan() {
        var traffic = RecentTraffic()
        traffic.add(demo, .accepted, 3, at: start)
        traffic.add(demo, .accepted, 4, at: start + .seconds(59))
        traffic.add(demo, .rejected, 1, at: start + .seconds(60))
        traffic.add(other, .accepted, 100, at: start)
        let hour = traffic.series(of: demo, .hour, at: start + .seconds(60))
        #expect(hour.counts.count == 60 && hour.start == start + .seconds(-58 * 60))
        #expect(Array(hour.counts.suffix(3)) == [[:], [.accepted: 7], [.rejected: 1]])
        for span in TrafficSpan.allCases {
            let series = traffic.series(of: demo, span, at: start + .seconds(60))
            #expect(series.total(.accepted) == 7 && series.total(.rejected) == 1 && series.counts.count == span.steps)
        }
    }

    @Test func whatIsOlderThanASpanIsNotInIt() {
        var traffic = RecentTraffic()
        traffic.add(demo, .accepted, 1, at: start)
        #expect(traffic.series(of: demo, .hour, at: start + .seconds(3599)).total(.accepted) == 1)
        #expect(traffic.series(of: demo, .hour, at: start + .seconds(3600)).total(.accepted) == 0)
        #expect(traffic.series(of: demo, .day, at: start + .seconds(3600)).total(.accepted) == 1)
        // A step takes the place of the one a span before, and what comes late for that one is not counted.
        traffic.add(demo, .accepted, 5, at: start + .seconds(3600))
        traffic.add(demo, .accepted, 9, at: start)
        #expect(traffic.series(of: demo, .hour, at: start + .seconds(3600)).total(.accepted) == 5)
        #expect(traffic.series(of: demo, .week, at: start + .seconds(3600)).total(.accepted) == 15)
    }

    @Test func aTallyPutsTogetherWhatIsAlike() {
        var tally = TrafficTally()
        for second in [0, 1, 2, 60] { tally.add(demo, .accepted, at: start + .seconds(second)) }
        tally.add(demo, .rejected, at: start)
        tally.add(other, .rejected, at: start)
        #expect(tally.runs.map(\.count) == [3, 1, 1, 1])
    }
}
