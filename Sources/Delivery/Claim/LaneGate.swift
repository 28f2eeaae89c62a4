import PushModel
import Store
import Synchronization

/// The schedule of a lane shared by threads: its worker, the settler, the requests that accept messages.
final class LaneGate: Sendable {
    /// Which lane.
    let lane: Lane
    private struct State {
        var schedule: LaneSchedule
        var direct: [(claims: DirectClaims, worker: WorkerID)] = []
    }
    private let state: Mutex<State>
    /// Whether any route is held: nearly never, and asked for each message that is accepted.
    private let hasHeldRoutes = Atomic(false)
    /// Raised after each change that may let the worker go on.
    private let changed = AutoResetEvent()
    /// Raised when the lane is stopped and nothing is in flight.
    let drained = AutoResetEvent()

    init(_ lane: Lane, size: LaneSize, nodes: LiveNodes) {
        self.lane = lane
        state = Mutex(State(schedule: LaneSchedule(size, nodes: nodes)))
    }

    /// What the worker does now.
    func next(at now: Timestamp) -> LaneSchedule.Action {
        state.withLock { $0.schedule.next(at: now) }
    }

    /// Waits for a change.
    func change() async {
        await changed.wait()
    }

    /// A timer that ends the wait for a change.
    func timer(on clock: any Clock<Duration>) -> WakeTimer {
        WakeTimer(raising: changed, on: clock)
    }

    /// Changes the schedule, and lets the worker look at it.
    func update<Value: Sendable>(_ change: (inout LaneSchedule) -> Value) -> Value {
        let (value, isDrained) = state.withLock { state in
            let value = change(&state.schedule)
            return (value, state.schedule.isStopped && state.schedule.inFlight == 0)
        }
        changed.raise()
        if isDrained { drained.raise() }
        return value
    }

    /// Reads the schedule.
    func read<Value: Sendable>(_ body: (borrowing LaneSchedule) -> Value) -> Value {
        state.withLock { body($0.schedule) }
    }

    /// There may be work.
    func wake() {
        update { $0.wake() }
    }

    /// Which routes are held, as of `now`; those that hold up another lane only are left out.
    func hold(_ all: [PushRoute: HeldRoute], at now: Timestamp) {
        let routes = lane == .bulk ? all : all.filter { !$0.value.isBulkOnly }
        update {
            $0.hold(routes, at: now)
            // Within the lock: no order of calls leaves the two apart.
            hasHeldRoutes.store(!routes.isEmpty, ordering: .releasing)
        }
    }

    /// Whether nothing is to be taken for a route.
    func isHeld(_ route: PushRoute) -> Bool {
        hasHeldRoutes.load(ordering: .acquiring) && read { $0.isHeld(route) }
    }

    /// Takes room for deliveries that are claimed with their accept; `nil`: there is none.
    func reserve(_ counts: [ProjectID: Int], at now: Timestamp) -> Reservation? {
        // Nothing changed for the worker: it is not woken.
        let worker = state.withLock { $0.schedule.reserve(counts, at: now) }
        return worker.map { Reservation(lane: lane, worker: $0, counts: counts) }
    }

    /// Takes deliveries in that were claimed with their accept, and gives back the room that they do not need.
    func deliver(_ claims: [DirectClaims], reserved reservation: Reservation) {
        var surplus = reservation.counts
        for claim in claims { surplus[claim.message.project, default: 0] -= claim.deliveries.count }
        let isDrained = state.withLock { state in
            for claim in claims { state.direct.append((claim, reservation.worker)) }
            for (project, count) in surplus where count > 0 { state.schedule.settled(count, of: project) }
            return state.schedule.isStopped && state.schedule.inFlight == 0
        }
        changed.raise()
        if isDrained { drained.raise() }
    }

    /// What was delivered directly since the last question.
    func takeDirect() -> [(claims: DirectClaims, worker: WorkerID)] {
        state.withLock { state in
            guard !state.direct.isEmpty else { return [] }
            defer { state.direct = [] }
            return state.direct
        }
    }

    /// Gives room back, by project.
    func vacate(_ counts: [ProjectID: Int]) {
        update { schedule in
            for (project, count) in counts where count > 0 { schedule.settled(count, of: project) }
        }
    }

    /// Claimed and not settled.
    var inFlight: Int {
        read { $0.inFlight }
    }
}
