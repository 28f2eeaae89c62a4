import Store
import Synchronization

/// Who this run is to the store. A worker whose lease was taken over is never used again: what it holds belongs to
/// others, and a new one is enrolled in its place.
final class WorkerLease: Sendable {
    /// How long a worker may be silent before others take over.
    static let length: Duration = .seconds(30)
    /// How often it is renewed, and how often others are looked after.
    static let interval: Duration = .seconds(10)

    private let current = Mutex<WorkerID?>(nil)
    /// Raised when a worker was lost.
    let changed = AutoResetEvent()

    /// The worker of now.
    var worker: WorkerID? { current.withLock { $0 } }

    /// Whether a worker may still settle what it claimed.
    func isCurrent(_ worker: WorkerID) -> Bool {
        current.withLock { $0 == worker }
    }

    /// A worker was enrolled.
    func begin(_ worker: WorkerID) {
        current.withLock { $0 = worker }
    }

    /// The store refused a worker as fenced.
    ///
    /// - Returns: whether it was the current one.
    @discardableResult
    func lose(_ worker: WorkerID) -> Bool {
        let wasCurrent = current.withLock { current in
            guard current == worker else { return false }
            current = nil
            return true
        }
        if wasCurrent { changed.raise() }
        return wasCurrent
    }
}
