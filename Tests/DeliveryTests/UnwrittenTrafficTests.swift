import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// The figures of charts on their way to the store, and what a chart makes of both.
@Suite(.timeLimit(.minutes(5)))
struct UnwrittenTrafficTests {
    private let demo = ProjectID(rawValue: "demo")!
    private let other = ProjectID(rawValue: "other")!
    /// The beginning of a minute, a quarter and two hours.
    private let start = Timestamp(seconds: 1_767_312_000)

    private func series(
        _ traffic: UnwrittenTraffic, _ span: TrafficSpan, at now: Timestamp, written: [TrafficCount] = []
    ) -> TrafficSeries {
        TrafficSeries(span, endingAt: now, summing: written + traffic.counts(of: demo, span))
    }

    @Test func endsAreCountedInTheStepsOfEachSpan() {
        var traffic = UnwrittenTraffic()
        traffic.add(demo, .accepted, 3, at: start)
        traffic.add(demo, .accepted, 4, at: start + .seconds(59))
        traffic.add(demo, .rejected, 1, at: start + .seconds(60))
        traffic.add(other, .accepted, 100, at: start)
        let hour = series(traffic, .hour, at: start + .seconds(60))
        #expect(hour.counts.count == 60 && hour.start == start + .seconds(-58 * 60))
        #expect(Array(hour.counts.suffix(3)) == [[:], [.accepted: 7], [.rejected: 1]])
        for span in TrafficSpan.allCases {
            let series = series(traffic, span, at: start + .seconds(60))
            #expect(series.total(.accepted) == 7 && series.total(.rejected) == 1 && series.counts.count == span.steps)
        }
    }

    @Test func whatIsOlderThanASpanIsNotInIt() {
        var traffic = UnwrittenTraffic()
        traffic.add(demo, .accepted, 1, at: start)
        #expect(series(traffic, .hour, at: start + .seconds(3599)).total(.accepted) == 1)
        #expect(series(traffic, .hour, at: start + .seconds(3600)).total(.accepted) == 0)
        #expect(series(traffic, .day, at: start + .seconds(3600)).total(.accepted) == 1)
        // Neither is what a clock that is ahead has counted.
        #expect(series(traffic, .week, at: start + .seconds(-1)).total(.accepted) == 0)
    }

    @Test func whatTheStoreTookIsCountedOnceAndTheRestIsTriedAgain() {
        var traffic = UnwrittenTraffic()
        traffic.add(demo, .accepted, 2, at: start)
        traffic.add(other, .expired, 1, at: start + .seconds(61))
        let first = traffic.beginWriting(at: start + .seconds(61))
        #expect(first.filter { $0.span == .hour }.map(\.counts) == [[.accepted: 2], [.expired: 1]])
        #expect(first.count == 6)
        // Counted meanwhile, and shown with what is underway.
        traffic.add(demo, .accepted, 5, at: start)
        #expect(series(traffic, .hour, at: start).total(.accepted) == 7)
        traffic.endWriting(isWritten: false)
        let second = traffic.beginWriting(at: start + .seconds(61))
        #expect(second.filter { $0.span == .week && $0.project == demo }.map(\.counts) == [[.accepted: 7]])
        traffic.endWriting(isWritten: true)
        #expect(series(traffic, .hour, at: start).total(.accepted) == 0)
        #expect(series(traffic, .hour, at: start, written: second).total(.accepted) == 7)
        #expect(traffic.beginWriting(at: start).isEmpty)
    }

    @Test func whatNoChartShowsWaitsNoLonger() {
        var traffic = UnwrittenTraffic()
        traffic.add(demo, .accepted, 1, at: start)
        _ = traffic.beginWriting(at: start)
        traffic.endWriting(isWritten: false)
        // Too old for the hour, not for the others.
        #expect(Set(traffic.beginWriting(at: start + .seconds(3600)).map(\.span)) == [.day, .week])
        traffic.endWriting(isWritten: false)
        #expect(traffic.beginWriting(at: start + .seconds(7 * 86_400)).isEmpty)
        traffic.endWriting(isWritten: false)
        #expect(traffic.counts(of: demo, .week).isEmpty)
    }

    @Test func aTallyPutsTogetherWhatIsAlike() {
        var tally = TrafficTally()
        for second in [0, 1, 2, 60] { tally.add(demo, .accepted, at: start + .seconds(second)) }
        tally.add(demo, .rejected, at: start)
        tally.add(other, .rejected, at: start)
        #expect(tally.runs.map(\.count) == [3, 1, 1, 1])
    }

    /// What one run of a runner counted is in the chart of the next, and those of two that share a store add up.
    @Test func chartsGoOnThroughARestart() async throws {
        let first = Rig()
        try await first.subscribe(4)
        try await first.run { rig in
            await rig.untilIdle()
            _ = try await rig.acceptTopic()
            await rig.store.untilEnded(4)
            // The settler counts after the commit.
            while try await rig.runner.traffic(of: Sample.projectID, .hour).total(.accepted) < 4 { await Task.yield() }
        }
        let second = Rig(store: first.store)
        #expect(try await second.runner.traffic(of: Sample.projectID, .hour).total(.accepted) == 4)
        try await second.run { rig in
            await rig.untilIdle()
            _ = try await rig.acceptTopic()
            await rig.store.untilEnded(8)
        }
        for span in TrafficSpan.allCases {
            #expect(try await second.runner.traffic(of: Sample.projectID, span).total(.accepted) == 8)
        }
    }

    /// The store has the figures, and its answer was lost: told once more they would count twice.
    @Test func whatTheStoreMayHaveTakenIsNotToldAgain() async throws {
        let rig = Rig()
        try await rig.run { rig in
            await rig.store.untilFirstTraffic()
            await rig.store.loseAnswer(of: .addTraffic)
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
        }
        #expect(await rig.store.calls[.addTraffic] == 2)
        #expect(try await rig.runner.traffic(of: Sample.projectID, .hour).total(.accepted) == 1)
    }
}
