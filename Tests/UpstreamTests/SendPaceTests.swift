import PushModel
import Synchronization
import TestSupport
import Testing

@testable import Upstream

/// How many pushes go a second.
struct SendPaceTests {
    /// Sends as many as may go, every 10 ms.
    private func sent(_ pace: inout SendPace, for seconds: Int, from start: Duration) -> Int {
        var count = 0
        for step in 1...(seconds * 100) {
            pace.refill(at: start + .milliseconds(10 * step))
            let room = pace.room(isUrgent: false)
            pace.take(room)
            count += room
        }
        return count
    }

    @Test func itBeginsSlowlyAndGrowsToTheLimitWithinAMinute() {
        var pace = SendPace(limit: 9000)
        pace.refill(at: .zero)
        let first = sent(&pace, for: 1, from: .zero)
        #expect((900...1300).contains(first))
        _ = sent(&pace, for: 58, from: .seconds(1))
        #expect(pace.rate < 9000)
        _ = sent(&pace, for: 6, from: .seconds(59))
        #expect(pace.rate == 9000)
        let full = sent(&pace, for: 10, from: .seconds(65))
        #expect((85_000...90_500).contains(full))
    }

    @Test func aSmallLimitIsKeptFromTheBeginning() {
        var pace = SendPace(limit: 5)
        pace.refill(at: .zero)
        #expect((48...53).contains(sent(&pace, for: 10, from: .zero)))
    }

    @Test func overloadHalvesTheRateOnceASecondAndNotBelowTheFloor() {
        var pace = SendPace(limit: 9000)
        pace.overloaded(at: .zero)
        pace.overloaded(at: .milliseconds(500))
        #expect(pace.rate == 500)
        for second in 1...9 { pace.overloaded(at: .seconds(second)) }
        #expect(pace.rate == SendPace.floorRate)
    }

    @Test func afterAMinuteWithoutPushesItBeginsAnew() {
        var pace = SendPace(limit: 9000)
        pace.refill(at: .zero)
        _ = sent(&pace, for: 70, from: .zero)
        pace.refill(at: .seconds(131))
        #expect(pace.rate == SendPace.startRate)
    }

    @Test func anotherLimitHoldsAtOnceAndGrowsGraduallyAgain() {
        var pace = SendPace(limit: 9000)
        pace.refill(at: .zero)
        pace.setLimit(300)
        #expect(pace.rate == 300 && pace.room(isUrgent: true) == 30)
        pace.setLimit(9000)
        #expect(pace.rate == 300)
        pace.take(1)
        pace.refill(at: .milliseconds(500))
        #expect(pace.rate > 300 && pace.rate < SendPace.startRate)
    }

    @Test func interactivePushesFindRoomThatBulkLeaves() {
        var pace = SendPace(limit: 1000)
        pace.refill(at: .zero)
        pace.take(pace.room(isUrgent: false))
        #expect(pace.room(isUrgent: false) == 0 && pace.room(isUrgent: true) == 10)
    }

    @Test(.timeLimit(.minutes(1)))
    func whoWaitsAtTheGateGoesWhenTheTimeHasCome() async throws {
        let clock = TestClock()
        let gate = CongestionGate(
            overload: .serviceUnavailable, pace: SendPace(limit: 1000), uptime: { clock.now.offset },
            // It throws when cancelled, and this task never is.
            sleep: { try? await clock.sleep(for: $0) })
        guard case .granted(let first) = await gate.enter(500, isUrgent: false) else {
            Issue.record("nothing goes")
            return
        }
        #expect(first == 90)
        async let second = gate.enter(410, isUrgent: false)
        await clock.advanceToSleeper(within: .seconds(1))
        guard case .granted(let count) = await second else {
            Issue.record("nothing goes")
            return
        }
        #expect((40...60).contains(count))
        gate.close()
    }
}
