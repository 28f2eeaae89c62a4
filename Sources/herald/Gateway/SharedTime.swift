import PushModel
import Synchronization

/// The time by the clock of a store that several gateways share. It is asked for every few seconds and goes on by the monotonic
/// clock meanwhile. Safe to share.
final class SharedTime: Sendable {
    private let state: Mutex<(time: Timestamp, at: ContinuousClock.Instant)?>

    /// - Parameter time: the store's time of now; `nil`: the store is not shared, and there is none.
    init(_ time: Timestamp?) {
        state = Mutex(time.map { ($0, .now) })
    }

    /// The time of now.
    var now: Timestamp? {
        state.withLock { state in state.map { $0.time + (ContinuousClock.now - $0.at) } }
    }

    /// Takes what the store said when it was asked: a server that took over, or whose clock was set, counts from here on.
    func update(to time: Timestamp, asked: ContinuousClock.Instant) {
        state.withLock { $0 = (time, asked) }
    }
}
