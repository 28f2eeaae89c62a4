import PushModel
import Synchronization

/// The state of a lane where several threads meet: its worker, the settler, whoever accepts messages.
final class LaneGate: Sendable {
    /// Which lane.
    let lane: Lane
    private let state: Mutex<LaneState>
    /// Raised after each change that may let the worker go on.
    private let changed = Signal()
    /// Raised when the lane is stopped and nothing is in flight.
    let drained = Signal()

    init(_ lane: Lane, state: consuming LaneState) {
        self.lane = lane
        self.state = Mutex(state)
    }

    /// What the worker does now.
    func next(at now: Timestamp) -> LaneState.Action {
        state.withLock { $0.next(at: now) }
    }

    /// Waits for a change, at most for `duration`.
    func change(atMost duration: Duration?, on clock: any Clock<Duration>) async {
        await changed.wait(atMost: duration, on: clock)
    }

    /// See ``LaneState/claimed(_:of:hasMore:nextDue:)``.
    func claimed(_ count: Int, of limit: Int, hasMore: Bool, nextDue: Timestamp?) {
        update { $0.claimed(count, of: limit, hasMore: hasMore, nextDue: nextDue) }
    }

    /// See ``LaneState/claimFailed(of:pausedUntil:)``.
    func claimFailed(of limit: Int, pausedUntil time: Timestamp) {
        update { $0.claimFailed(of: limit, pausedUntil: time) }
    }

    /// There may be work.
    func wake() {
        update { $0.wake() }
    }

    /// `count` pushes are settled, and the earliest of their retries falls due at `due`.
    func settled(_ count: Int, due: Timestamp?) {
        update { state in
            state.settled(count)
            if let due { state.expect(due) }
        }
    }

    /// Results can't be recorded, or can again.
    func hold(_ isHeld: Bool) {
        update { $0.hold(isHeld) }
    }

    /// No claims from now on.
    func stop() {
        update { $0.stop() }
    }

    /// Claimed and not settled.
    var inFlight: Int {
        state.withLock { $0.inFlight }
    }

    private func update(_ change: (inout LaneState) -> Void) {
        let isDrained = state.withLock { state in
            change(&state)
            return state.isStopped && state.inFlight == 0
        }
        changed.raise()
        if isDrained { drained.raise() }
    }
}
