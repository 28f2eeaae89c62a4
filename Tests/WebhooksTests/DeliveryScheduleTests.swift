import PushModel
import Store
import Testing

@testable import Webhooks

/// The schedule of an endpoint, under a clock that the test turns.
@Suite(.timeLimit(.minutes(1)))
struct DeliveryScheduleTests {
    private static let start = Timestamp(seconds: 1_800_000_000)

    /// An endpoint that is down: what happens, second by second, until it is given up.
    private struct Run {
        var schedule = DeliverySchedule(WebhookPosition(cursor: .zero))
        var now = DeliveryScheduleTests.start
        var sent: [Duration] = []
        var warnings: [Int] = []
        var given = 0

        /// Makes the next attempt when it is due.
        mutating func fail(isDroppable: Bool = true, random: Double = 0.5) -> DeliverySchedule.Verdict {
            if case .wait(let time) = schedule.begin(at: now) {
                now = time
                let start = schedule.begin(at: now)
                #expect(start == .send)
            }
            sent.append(now - DeliveryScheduleTests.start)
            let (verdict, warning) = schedule.failed(
                DeliverySchedule.Failure(), isDroppable: isDroppable, at: now, random: random)
            if let warning { warnings.append(warning) }
            if verdict == .giveUp { given += 1 }
            return verdict
        }
    }

    /// The rests of the table, one after the other.
    private static let rests = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
    private static let times = rests.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1) }

    @Test func anEventIsTriedTenTimesOverThreeDaysAndThenGivenUp() {
        var run = Run()
        for number in 1...10 {
            let verdict = run.fail()
            #expect((verdict == .giveUp) == (number == 10))
        }
        #expect(run.sent == Self.times.map { Duration.seconds($0) })
        #expect(run.sent.last == .seconds(272_105))
        // The next event begins anew, and at once.
        _ = run.fail()
        #expect(run.sent.last == .seconds(272_105) && run.schedule.attempts == 1)
    }

    @Test func aDeadLetterThatFailsAgainHoldsUpNothing() {
        var schedule = DeliverySchedule(WebhookPosition(cursor: .zero))
        for number in 0..<30 {
            let now = Self.start + .seconds(number)
            let start = schedule.begin(at: now)
            #expect(start == .send)
            let verdict = schedule.failed(.init(), isDroppable: true, isRevival: true, at: now, random: 0.5).verdict
            #expect(verdict == .giveUp && schedule.attempts == 0 && schedule.nextAttemptAt == nil)
        }
        // It is a failure of the endpoint all the same.
        #expect(schedule.failingSince == Self.start && schedule.isBreakerOpen)
    }

    @Test func whatFailsForFiveDaysIsDisabledAtThatVeryTimeAndItsProjectIsToldBefore() {
        var run = Run()
        while run.fail() != .disable { #expect(run.sent.count < 40) }
        #expect(run.sent.last == DeliverySchedule.disablingTime && run.given == 1)
        // There was no attempt between 90 percent and the end.
        #expect(run.warnings == [50, 70, 100])
        // The second event had the same schedule, cut at the end.
        let second = run.sent.dropFirst(10).dropLast().map { $0 - .seconds(272_105) }
        #expect(Array(second) == Self.times.prefix(second.count).map { Duration.seconds($0) })
    }

    /// A batch is never given up: it goes on once a day.
    @Test func aBatchBlocksUntilTheEndpointIsDisabled() {
        var run = Run()
        while run.fail(isDroppable: false) != .disable {}
        #expect(run.given == 0)
        #expect(run.sent.prefix(10) == Self.times.map { Duration.seconds($0) }[...])
        #expect(Array(run.sent.dropFirst(10)) == [.seconds(272_105 + 86_400), .seconds(432_000)])
    }

    @Test func oneSuccessForgetsEverything() {
        var run = Run()
        for _ in 1...6 { _ = run.fail() }
        guard case .wait(let time) = run.schedule.begin(at: run.now) else {
            Issue.record("it does not rest")
            return
        }
        let start1 = run.schedule.begin(at: time)
        #expect(start1 == .send)
        run.schedule.succeeded(at: time)
        #expect(run.schedule.failingSince == nil && run.schedule.attempts == 0 && run.schedule.nextAttemptAt == nil)
        run.now = time
        _ = run.fail()
        #expect(run.schedule.nextAttemptAt == time + .seconds(5))
    }

    /// An endpoint that gets nothing is not disabled, however long ago it failed.
    @Test func timeAloneDisablesNothing() {
        var run = Run()
        _ = run.fail()
        let later = Self.start + .seconds(100 * 86_400)
        let start2 = run.schedule.begin(at: later)
        #expect(start2 == .send)
        run.schedule.succeeded(at: later)
        #expect(!run.schedule.isFailing)
    }

    @Test func aReceiverThatIsGoneIsDisabledAtOnce() {
        var schedule = DeliverySchedule(WebhookPosition(cursor: .zero))
        let start3 = schedule.begin(at: Self.start)
        #expect(start3 == .send)
        let (verdict, warning) = schedule.failed(
            DeliverySchedule.Failure(isGone: true), isDroppable: true, at: Self.start, random: 0.5)
        #expect(verdict == .disable && warning == 100)
    }

    @Test(
        arguments: [
            (1, Optional<Int>.none, 0.0, 4.0), (1, nil, 0.5, 5), (2, nil, 1, 360), (9, nil, 0.5, 86_400),
            (30, nil, 0.5, 86_400),
            // What a receiver asks for counts between the scheduled rest and twice that.
            (1, 2, 0, 5), (1, 7, 0, 7), (1, 3600, 0, 10), (3, 2000, 0.9, 2000), (9, 999_999, 0, 86_400),
        ] as [(Int, Int?, Double, Double)])
    func restsHaveTheirBounds(failed: Int, retryAfter: Int?, random: Double, seconds: Double) {
        let rest = RetrySchedule.rest(
            after: failed, retryAfter: retryAfter.map { Duration.seconds($0) }, random: random)
        #expect(abs(rest / .seconds(1) - seconds) < 0.001)
    }

    /// After a restart the schedule goes on where it was.
    @Test func aScheduleGoesOnAfterARestart() {
        var run = Run()
        for _ in 1...4 { _ = run.fail() }
        var position = WebhookPosition(cursor: .zero)
        (position.attempts, position.nextAttemptAt) = (run.schedule.attempts, run.schedule.nextAttemptAt)
        (position.failingSince, position.warned) = (run.schedule.failingSince, run.schedule.warned)
        var next = run
        next.schedule = DeliverySchedule(position)
        while run.fail() != .disable {}
        while next.fail() != .disable {}
        #expect(run.sent == next.sent && run.warnings == next.warnings)
    }

    /// Half of the last twenty attempts within five minutes failed: tries go once a minute and use up nothing.
    @Test func anEndpointThatFailsHalfOfTheTimeIsTriedOnceAMinute() {
        var schedule = DeliverySchedule(WebhookPosition(cursor: .zero))
        var now = Self.start
        func attempt(_ isFailure: Bool) -> DeliverySchedule.Verdict? {
            if case .wait(let time) = schedule.begin(at: now) {
                now = time
                let start = schedule.begin(at: now)
                #expect(start == .send)
            }
            guard isFailure else {
                schedule.succeeded(at: now)
                return nil
            }
            return schedule.failed(DeliverySchedule.Failure(), isDroppable: true, at: now, random: 0.5).verdict
        }
        for index in 0..<19 { _ = attempt(index % 2 == 1) }
        #expect(!schedule.isBreakerOpen)
        let opening = attempt(true)
        #expect(opening == .retry(at: now + .seconds(60)) && schedule.isBreakerOpen)
        let attempts = schedule.attempts
        for _ in 0..<30 {
            let verdict = attempt(true)
            #expect(verdict == .retry(at: now + .seconds(60)))
        }
        #expect(schedule.attempts == attempts)
        let success = attempt(false)
        #expect(success == nil && !schedule.isBreakerOpen)
        let next = attempt(true)
        #expect(next == .retry(at: now + .seconds(5)))
    }

    @Test func failuresThatLieFarApartOpenNoBreaker() {
        var breaker = CircuitBreaker()
        for index in 0..<100 { breaker.failed(at: Self.start + .seconds(60 * index)) }
        #expect(!breaker.isOpen)
    }
}
