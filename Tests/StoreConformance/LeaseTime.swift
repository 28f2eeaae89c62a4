package import PushModel
import Synchronization

/// The time by which a store under test counts leases: a dial that begins at 0 and that the cases turn, also back.
package final class LeaseTime: Sendable {
    private let time = Mutex(Timestamp(milliseconds: 0))

    /// Begins at 0.
    package init() {}

    /// The time.
    package var now: Timestamp { time.withLock { $0 } }

    /// Shows `time`.
    package func turn(to time: Timestamp) {
        self.time.withLock { $0 = time }
    }

    /// How long it is to a time in milliseconds; negative when that is past.
    package func remaining(to time: Int64) -> Duration {
        Timestamp(milliseconds: time) - now
    }
}
