import TestSupport
import Testing

@testable import Webhooks

/// How much time reading for webhooks takes from deliveries.
@Suite(.timeLimit(.minutes(1)))
struct ReadingBudgetTests {
    private let clock = TestClock()

    @Test func theShareGrowsWithWhatAnEndpointLacks() {
        let shares = ([-1, 0, 1000, 50_000, 100_000, .max] as [Int64]).map { ReadingBudget.share(behind: $0) }
        #expect(shares == shares.sorted() && shares.first == 0.05 && shares.last == 0.5)
        #expect(shares[1] < shares[2] && shares[3] < shares[4])
    }

    @Test func anEndpointThatIsBehindRestsLess() {
        let (near, far) = (ReadingBudget(clock: clock) { true }, ReadingBudget(clock: clock) { true })
        near.spend(.milliseconds(10), behind: 0)
        far.spend(.milliseconds(10), behind: 200_000)
        #expect(near.owed == .milliseconds(200) && far.owed == .milliseconds(20))
    }

    @Test func oneLongReadIsNoReasonToStandStill() {
        let budget = ReadingBudget(clock: clock) { true }
        budget.spend(.seconds(60), behind: 0)
        #expect(budget.owed == ReadingBudget.longest)
    }

    @Test func besideDeliveriesThatHaveRoomNothingRests() async {
        let isBusy = Shared(true)
        let budget = ReadingBudget(clock: clock) { isBusy.withLock { $0 } }
        budget.spend(.milliseconds(10), behind: 0)
        isBusy.withLock { $0 = false }
        // Returns though the clock stands still.
        await budget.rest()
        budget.spend(.milliseconds(10), behind: 0)
        #expect(budget.owed == .zero)
    }

    @Test func aRestPaysWhatIsOwed() async {
        let budget = ReadingBudget(clock: clock) { true }
        budget.spend(.milliseconds(10), behind: 0)
        async let rest: Void = budget.rest()
        await clock.sleepers(1, within: .milliseconds(200))
        #expect(budget.owed == .milliseconds(200))
        clock.advance(by: .milliseconds(200))
        await rest
        #expect(budget.owed == .zero)
    }
}
