import PushModel
import TestSupport
import Testing

@testable import Upstream

/// How many pushes go to one address within a minute.
struct AddressBudgetTests {
    private static func address(_ number: Int) -> Address { .android(AndroidToken(rawValue: "device-\(number):x")!) }

    @Test(arguments: [1, 15, 16, 17, 240]) func whatIsBeyondTheLimitWaitsUntilTheOldestIsAMinuteAgo(limit: Int) {
        var budget = AddressBudget(limit: limit)
        func take(_ number: Int, _ seconds: Int) -> Duration? {
            budget.take(Self.address(number), at: .seconds(seconds))
        }
        let first = (0..<limit).map { _ in take(1, 5) }
        #expect(first.allSatisfy { $0 == nil })
        #expect(take(1, 5) == .seconds(60))
        #expect(take(1, 59) == .seconds(6))
        // Others go on meanwhile.
        #expect(take(2, 59) == nil)
        #expect(take(1, 64) == .seconds(1))
        #expect(take(1, 65) == nil)
    }

    @Test func aSteadyStreamBelowTheLimitIsNeverHeld() {
        var budget = AddressBudget(limit: 240)
        for tick in 0..<2400 {
            let wait = budget.take(Self.address(1), at: .milliseconds(tick * 300))
            #expect(wait == nil, "push \(tick)")
        }
    }

    /// Whatever the time, in no minute more than the limit.
    @Test(arguments: [1, 10, 16, 17, 240]) func noMinuteHasMoreThanTheLimit(limit: Int) {
        var budget = AddressBudget(limit: limit)
        var sent: [Int] = []
        for tick in 0..<6000 {
            let time = tick * 50
            if budget.take(Self.address(1), at: .milliseconds(time)) == nil { sent.append(time) }
        }
        for (place, time) in sent.enumerated() {
            let inMinute = sent[place...].count { $0 < time + 60_000 }
            #expect(inMinute <= limit, "\(inMinute) from \(time) ms on")
        }
        // Five minutes at the limit, but for the first one.
        #expect(sent.count >= 4 * limit)
    }

    /// A broadcast costs a table of a fixed size, not a count for each device.
    @Test func devicesThatGetFewPushesHaveNoCountOfTheirOwn() {
        var budget = AddressBudget(limit: 240)
        let held = (0..<100_000).count { budget.take(Self.address($0), at: .seconds(1)) != nil }
        #expect(held == 0)
        #expect(budget.ownCount < 100)
    }

    @Test func countsThatAreOverAreForgotten() {
        var budget = AddressBudget(limit: 2)
        for number in 0..<100 {
            for _ in 0..<3 { _ = budget.take(Self.address(number), at: .seconds(1)) }
        }
        #expect(budget.ownCount > 50)
        _ = budget.take(Self.address(1000), at: .seconds(200))
        #expect(budget.ownCount <= 1)
    }
}
