package import PushModel
import Synchronization

/// Time that stands still until the test moves it: wall time, and the time since some moment, which is never set.
package final class TestTime: Sendable {
    private let time: Mutex<(wall: Timestamp, up: Duration)>

    /// Starts at this wall time.
    package init(_ start: Timestamp = Timestamp(seconds: 1_700_000_000)) {
        time = Mutex((start, .zero))
    }

    /// Wall time.
    package var now: Timestamp { time.withLock { $0.wall } }
    /// Reads the wall time.
    package var wallTime: WallTime { { self.now } }
    /// Reads the time since the start.
    package var uptime: @Sendable () -> Duration { { self.time.withLock { $0.up } } }

    /// Time passes.
    package func advance(by duration: Duration) {
        time.withLock { $0 = ($0.wall + duration, $0.up + duration) }
    }

    /// The wall clock is set.
    package func setWallTime(ahead duration: Duration) {
        time.withLock { $0.wall = $0.wall + duration }
    }
}
