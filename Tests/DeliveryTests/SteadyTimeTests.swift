import PushModel
import Synchronization
import Testing

@testable import Delivery

/// The clock of deliveries while somebody sets the clock of the machine.
@Suite(.timeLimit(.minutes(5)))
struct SteadyTimeTests {
    /// A machine whose clock is set at will, milliseconds.
    private final class Machine: Sendable {
        private let state = Mutex((wall: Int64(1_000_000_000), up: Int64(5)))

        var wall: Timestamp { Timestamp(milliseconds: state.withLock { $0.wall }) }
        var uptime: Duration { .milliseconds(state.withLock { $0.up }) }

        func pass(_ milliseconds: Int64) {
            state.withLock { $0 = ($0.wall + milliseconds, $0.up + milliseconds) }
        }

        func set(by milliseconds: Int64) {
            state.withLock { $0.wall += milliseconds }
        }

        func clock(lastRecordedAt: Timestamp? = nil) -> SteadyTime {
            SteadyTime(system: { self.wall }, uptime: { self.uptime }, lastRecordedAt: lastRecordedAt)
        }
    }

    private static let hour: Int64 = 3_600_000

    @Test func itIsTheSystemsClockWhenNobodySetsIt() {
        let machine = Machine()
        let clock = machine.clock()
        for _ in 0..<1000 {
            machine.pass(7)
            #expect(clock.now() == machine.wall)
        }
    }

    @Test func aStepBackLeavesElapsedTimeToWaitFor() {
        let machine = Machine()
        let clock = machine.clock()
        let due = clock.now() + .seconds(9)
        machine.set(by: -Self.hour)
        machine.pass(9000)
        #expect(clock.now() < due)
        machine.pass(1000)
        #expect(clock.now() == due)
    }

    @Test func itNeverGoesBackAndMeetsTheSystemsClockAgain() {
        let machine = Machine()
        let clock = machine.clock()
        var random = SystemRandomNumberGenerator()
        var last = clock.now()
        for _ in 0..<2000 {
            machine.set(by: Int64.random(in: -5000...5000, using: &random))
            machine.pass(Int64.random(in: 0...2000, using: &random))
            let now = clock.now()
            #expect(now >= last && now >= machine.wall)
            last = now
        }
        for _ in 0..<100_000 where clock.now() != machine.wall { machine.pass(1000) }
        #expect(clock.now() == machine.wall)
    }

    @Test func manyCallsWithinAMillisecondDoNotHoldItBack() {
        let machine = Machine()
        let clock = machine.clock()
        let start = clock.now()
        machine.set(by: -Self.hour)
        for _ in 0..<1000 {
            machine.pass(1)
            _ = clock.now()
        }
        #expect(clock.now() == start + .milliseconds(900))
    }

    @Test func aSmallStepForwardsIsFollowedAtOnce() {
        let machine = Machine()
        let clock = machine.clock()
        machine.set(by: 9000)
        #expect(clock.now() == machine.wall)
    }

    @Test func aMonthAheadForASecondIsNotFollowed() {
        let machine = Machine()
        let clock = machine.clock()
        let start = clock.now()
        machine.set(by: 30 * 24 * Self.hour)
        for _ in 0..<10 {
            machine.pass(100)
            _ = clock.now()
        }
        #expect(clock.now() == start + .seconds(1))
        machine.set(by: -30 * 24 * Self.hour)
        machine.pass(1000)
        #expect(clock.now() == start + .seconds(2) && clock.now() == machine.wall)
    }

    @Test func aStepForwardsThatStaysIsFollowed() {
        let machine = Machine()
        let clock = machine.clock()
        let start = clock.now()
        machine.set(by: Self.hour)
        for _ in 0..<60 {
            #expect(clock.now() < start + .seconds(61))
            machine.pass(1000)
        }
        #expect(clock.now() == machine.wall)
        // One that was not looked at meanwhile is seen once before it counts as staying.
        machine.set(by: Self.hour)
        machine.pass(10 * Self.hour)
        #expect(clock.now() == machine.wall + .milliseconds(-Self.hour))
    }

    @Test func stepsThatFollowOneAnotherAreNotTakenForOneThatStays() {
        let machine = Machine()
        let clock = machine.clock()
        let start = clock.now()
        for _ in 0..<100 {
            machine.set(by: Self.hour)
            machine.pass(1000)
            _ = clock.now()
        }
        #expect(clock.now() == start + .seconds(100))
    }

    @Test func aStepThatWasFollowedIsUndoneWhenItsEndStays() {
        let machine = Machine()
        let clock = machine.clock()
        let start = clock.now()
        machine.set(by: 30 * 24 * Self.hour)
        for _ in 0..<70 {
            machine.pass(1000)
            _ = clock.now()
        }
        #expect(clock.now() > start + .seconds(86_400))
        machine.set(by: -30 * 24 * Self.hour)
        for _ in 0..<70 {
            machine.pass(1000)
            _ = clock.now()
        }
        #expect(clock.now() == machine.wall && clock.now() == start + .seconds(140))
    }

    @Test func theStoresNewestTimeCountsAtTheStartUnlessItIsPlainlyWrong() {
        let machine = Machine()
        let ahead = machine.wall + .milliseconds(Self.hour)
        #expect(machine.clock(lastRecordedAt: ahead).now() == ahead)
        #expect(machine.clock(lastRecordedAt: machine.wall + .seconds(86_400)).now() == machine.wall)
        #expect(machine.clock(lastRecordedAt: machine.wall + .seconds(-1)).now() == machine.wall)
    }
}
