import PushModel
import Testing

@testable import Upstream

struct ConnectionBudgetTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private static let idle = ConnectionBudget.idleInterval

    @Test(arguments: [2, 4, 8, 40])
    func `Who is alone may have every connection`(limit: Int) {
        var proven = ConnectionBudget(limit: limit)
        #expect(proven.note(hasProven: true, hasSuspects: false, at: Self.start) == .init(proven: limit, suspects: 0))
        var suspects = ConnectionBudget(limit: limit)
        #expect(
            suspects.note(hasProven: false, hasSuspects: true, at: Self.start) == .init(proven: 0, suspects: limit))
    }

    @Test(arguments: [(2, 1), (3, 1), (4, 1), (7, 1), (8, 2), (40, 10)])
    func `Beside proven traffic suspects have a quarter on top, at least one`(limit: Int, suspects: Int) {
        var budget = ConnectionBudget(limit: limit)
        let together = ConnectionBudget.Division(proven: limit, suspects: suspects)
        #expect(budget.note(hasProven: false, hasSuspects: true, at: Self.start) != together)
        #expect(budget.note(hasProven: true, hasSuspects: false, at: Self.start) == together)
        #expect(budget.note(hasProven: true, hasSuspects: true, at: Self.start) == nil, "nothing new")
        var other = ConnectionBudget(limit: limit)
        #expect(other.note(hasProven: true, hasSuspects: true, at: Self.start) == together)
    }

    @Test func `Who sends nothing for a while lets go of its connections, not before`() {
        var budget = ConnectionBudget(limit: 4)
        _ = budget.note(hasProven: true, hasSuspects: true, at: Self.start)
        let before = Self.start + (Self.idle - .milliseconds(1))
        #expect(budget.note(hasProven: false, hasSuspects: true, at: before) == nil)
        let after = Self.start + Self.idle
        #expect(budget.note(hasProven: false, hasSuspects: true, at: after) == .init(proven: 0, suspects: 4))
        #expect(budget.note(hasProven: true, hasSuspects: false, at: after) == .init(proven: 4, suspects: 1))
        let end = after + Self.idle
        #expect(budget.note(hasProven: true, hasSuspects: false, at: end) == .init(proven: 4, suspects: 0))
    }

    @Test func `A part of the limit is kept to while gateways share it, at least one connection`() {
        var budget = ConnectionBudget(limit: 8)
        #expect(budget.divide(among: 2, at: Self.start) == nil, "nothing was sent yet")
        #expect(budget.note(hasProven: true, hasSuspects: true, at: Self.start) == .init(proven: 4, suspects: 1))
        #expect(budget.divide(among: 2, at: Self.start) == nil, "the same as before")
        #expect(budget.divide(among: 3, at: Self.start) == .init(proven: 2, suspects: 1))
        #expect(budget.divide(among: 20, at: Self.start) == .init(proven: 1, suspects: 1))
        // Suspects sent nothing for a while when the others went.
        let later = Self.start + Self.idle
        #expect(budget.note(hasProven: true, hasSuspects: false, at: later) == .init(proven: 1, suspects: 0))
        #expect(budget.divide(among: 1, at: later) == .init(proven: 8, suspects: 0))
    }

    @Test func `A clock that is set back takes nothing away`() {
        var budget = ConnectionBudget(limit: 4)
        _ = budget.note(hasProven: true, hasSuspects: true, at: Self.start)
        let earlier = Self.start + .seconds(-86_400)
        #expect(budget.note(hasProven: false, hasSuspects: true, at: earlier) == nil)
    }
}
