import PushModel
import Testing

@testable import Delivery

struct LaneStateTests {
    private let now = Sample.start

    private func state(limit: Int = 100, page: Int = 40, leastRoom: Int = 25) -> LaneState {
        LaneState(inFlightLimit: limit, claimLimit: page, leastRoom: leastRoom)
    }

    @Test func theFirstStepIsAClaim() {
        var state = state()
        #expect(state.next(at: now) == .claim(limit: 40))
    }

    @Test func aLaneWithoutWorkWaits() {
        var state = state()
        _ = state.next(at: now)
        state.claimed(10, of: 40, hasMore: false, nextDue: nil)
        #expect(state.inFlight == 10)
        #expect(state.next(at: now) == .wait(until: nil))
        state.wake()
        #expect(state.next(at: now) == .claim(limit: 40))
    }

    @Test func aWakeDuringAClaimIsNotLost() {
        var state = state()
        _ = state.next(at: now)
        state.wake()
        state.claimed(0, of: 40, hasMore: false, nextDue: nil)
        #expect(state.next(at: now) == .claim(limit: 40))
    }

    @Test func aLaneWaitsForEnoughRoom() {
        var state = state()
        for _ in 0..<2 {
            #expect(state.next(at: now) == .claim(limit: 40))
            state.claimed(40, of: 40, hasMore: true, nextDue: nil)
        }
        #expect(state.next(at: now) == .wait(until: nil))
        state.settled(4)
        #expect(state.next(at: now) == .wait(until: nil))
        state.settled(1)
        #expect(state.next(at: now) == .claim(limit: 25))
    }

    @Test func theEarliestRetryWakesTheLane() {
        var state = state()
        _ = state.next(at: now)
        state.expect(now + .seconds(9))
        state.claimed(0, of: 40, hasMore: false, nextDue: now + .seconds(5))
        state.expect(now + .seconds(7))
        #expect(state.next(at: now) == .wait(until: now + .seconds(5)))
        #expect(state.next(at: now + .seconds(5)) == .claim(limit: 40))
    }

    @Test func aHeldLaneClaimsNothing() {
        var state = state()
        state.hold(true)
        #expect(state.next(at: now) == .wait(until: nil))
        state.hold(false)
        #expect(state.next(at: now) == .claim(limit: 40))
    }

    @Test func aFailedClaimIsRepeatedLater() {
        var state = state()
        _ = state.next(at: now)
        state.claimFailed(of: 40, pausedUntil: now + .seconds(1))
        #expect(state.inFlight == 0)
        state.wake()
        #expect(state.next(at: now) == .wait(until: now + .seconds(1)))
        #expect(state.next(at: now + .seconds(1)) == .claim(limit: 40))
    }

    @Test func aRescuedPageMayOverfillTheLane() {
        var state = state()
        _ = state.next(at: now)
        state.claimed(120, of: 40, hasMore: true, nextDue: nil)
        #expect(state.inFlight == 120)
        #expect(state.next(at: now) == .wait(until: nil))
        state.settled(120)
        #expect(state.next(at: now) == .claim(limit: 40))
    }

    @Test func aRunningClaimKeepsAStoppedLaneFromLookingEmpty() {
        var state = state()
        _ = state.next(at: now)
        state.stop()
        #expect(state.inFlight == 40)
        state.claimed(3, of: 40, hasMore: true, nextDue: nil)
        #expect(state.inFlight == 3)
        #expect(state.next(at: now) == .stop)
    }

    @Test(.timeLimit(.minutes(5)))
    func aSignalIsNeverLost() async {
        let there = Signal()
        let back = Signal()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<10_000 {
                    await there.wait()
                    back.raise()
                }
            }
            for _ in 0..<10_000 {
                there.raise()
                await back.wait()
            }
        }
    }
}
