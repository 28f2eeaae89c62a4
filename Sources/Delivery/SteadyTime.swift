public import PushModel
import Synchronization

/// Wall time for deliveries that never goes back.
///
/// Retries wait in the store for a wall time, since they outlive the process. When the clock of the machine is set back by
/// an hour, they would wait for that hour. So this clock follows the system's forwards only: set back, it goes on from
/// where it was, at nine tenths of the speed of a clock that nobody sets, until the system's has caught up. What waits
/// then waits by elapsed time, at most a ninth longer. Set forwards, it follows at once: what was due within the step is
/// due now, and what expired within it has expired.
///
/// Safe to share.
public final class SteadyTime: Sendable {
    /// Time since some moment, on a clock that nobody sets.
    public typealias Uptime = @Sendable () -> Duration

    /// A time and when it was, from which the time is counted while the system's clock is behind.
    private struct Anchor {
        var time: Timestamp
        var uptime: Duration
    }

    /// A store whose newest row is further ahead than this was written under a clock that was plainly wrong.
    static let longestStep: Duration = .seconds(2 * 3600)

    private let system: WallTime
    private let uptime: Uptime
    private let anchor: Mutex<Anchor>

    /// Begins to count.
    ///
    /// - Parameters:
    ///   - system: the clock of the machine.
    ///   - lastRecordedAt: the newest time in the store. The clock may have been set back while no gateway ran: up to two
    ///     hours are made up for.
    public init(system: @escaping WallTime, uptime: @escaping Uptime, lastRecordedAt: Timestamp?) {
        let now = system()
        var start = now
        if let last = lastRecordedAt, last > now, last - now <= Self.longestStep { start = last }
        self.system = system
        self.uptime = uptime
        anchor = Mutex(Anchor(time: start, uptime: uptime()))
    }

    /// The time.
    public func now() -> Timestamp {
        let (time, uptime) = (system(), uptime())
        return anchor.withLock { anchor in
            // The anchor stays while the system's clock is behind: moving it at each call would round time away.
            let steady = anchor.time + (uptime - anchor.uptime) * 9 / 10
            guard time >= steady else { return max(steady, anchor.time) }
            anchor = Anchor(time: time, uptime: uptime)
            return time
        }
    }
}
