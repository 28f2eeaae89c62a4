import Store
import Synchronization

/// Who this run is to the store, and until when it may send as that.
///
/// The store counts a lease on its own clock, from when it is asked; this run counts it on its own, from a moment before:
/// so its end here is never after its end there, however long the answer of the store takes and whatever the wall clock
/// does. A batch leaves before that end or not at all, so that no delivery is sent that another worker may have by then.
///
/// A worker whose lease was taken over is never used again: what it holds belongs to others, and a new one is enrolled in
/// its place. One whose end has passed here may still settle what it sent, until the store says that it was taken over.
final class WorkerLease: Sendable {
    /// How long a worker may be silent before others take over.
    static let length: Duration = .seconds(30)
    /// How often it is renewed, and how often others are looked after.
    static let interval: Duration = .seconds(10)

    private struct State {
        var worker: WorkerID?
        /// When the worker may not send any more, on the run's clock.
        var end: Duration = .zero
        /// Workers that send and claim nothing any more, and that are not known to be fenced.
        var lapsed: Set<WorkerID> = []

        /// The worker of now sends and claims nothing any more.
        mutating func lapse(_ worker: WorkerID) {
            self.worker = nil
            lapsed.insert(worker)
        }
    }

    private let state = Mutex(State())
    private let uptime: @Sendable () -> Duration
    /// Raised when a worker was lost.
    let changed = AutoResetEvent()

    /// - Parameter clock: a monotonic one.
    init(on clock: any Clock<Duration>) {
        uptime = Self.uptime(of: clock)
    }

    private static func uptime(of clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// The worker of now.
    var worker: WorkerID? { state.withLock { $0.worker } }

    /// The time on the run's clock: to be read before the store is asked for a lease.
    var now: Duration { uptime() }

    /// Workers that send and claim nothing any more, and that are not known to be fenced.
    var lapsed: Set<WorkerID> { state.withLock { $0.lapsed } }

    /// Whether a worker may still settle what it claimed, as far as is known here.
    func maySettle(_ worker: WorkerID) -> Bool {
        state.withLock { $0.worker == worker || $0.lapsed.contains(worker) }
    }

    /// Whether a worker may send now. One that may not because its end has passed is given up: its claims come back when
    /// the store finds its lease over.
    func maySend(_ worker: WorkerID) -> Bool {
        let (maySend, isLapsed) = state.withLock { state in
            guard state.worker == worker else { return (false, false) }
            guard uptime() >= state.end else { return (true, false) }
            state.lapse(worker)
            return (false, true)
        }
        if isLapsed { changed.raise() }
        return maySend
    }

    /// Gives a worker up for which the store may have claimed deliveries that this run knows nothing of: they would not be sent
    /// as long as its lease is renewed. They come back when the store finds its lease over, with what else it holds by
    /// then; what it has sent it may settle.
    func giveUp(_ worker: WorkerID) {
        let wasCurrent = state.withLock { state in
            guard state.worker == worker else { return false }
            state.lapse(worker)
            return true
        }
        if wasCurrent { changed.raise() }
    }

    /// A worker was enrolled.
    ///
    /// - Parameter asked: when the store was asked for it.
    func begin(_ worker: WorkerID, asked: Duration) {
        state.withLock {
            $0.worker = worker
            $0.end = asked + Self.length
        }
    }

    /// The store renewed a worker's lease; one that was given up meanwhile stays so.
    ///
    /// - Parameter asked: when the store was asked for it.
    func renew(_ worker: WorkerID, asked: Duration) {
        state.withLock { if $0.worker == worker { $0.end = max($0.end, asked + Self.length) } }
    }

    /// The store refused a worker as fenced.
    ///
    /// - Returns: whether it was the current one.
    @discardableResult
    func lose(_ worker: WorkerID) -> Bool {
        let wasCurrent = state.withLock { state in
            state.lapsed.remove(worker)
            guard state.worker == worker else { return false }
            state.worker = nil
            return true
        }
        if wasCurrent { changed.raise() }
        return wasCurrent
    }
}
