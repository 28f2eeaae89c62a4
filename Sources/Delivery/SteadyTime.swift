package import PushModel
import Synchronization

/// Wall time for deliveries, which a clock that somebody sets neither stalls nor expires.
///
/// Retries and expiries wait in the store for a wall time, since they outlive the process. What they wait for is elapsed
/// time, so this clock goes by a monotonic clock and follows the system's as far as that is plausible:
///
/// | the system's clock is | this clock |
/// |---|---|
/// | ahead, by up to ``trustedStep`` | follows it at once |
/// | ahead by more | goes on by elapsed time; follows when the step has stayed for ``confirmation`` |
/// | behind, by up to ``longestStep`` | goes on at nine tenths of the speed, until the system's has caught up |
/// | behind by more | goes on by elapsed time; follows, backwards, when the step has stayed for ``confirmation`` |
///
/// So a clock that is a month ahead for a second expires nothing; one that is set back by an hour makes nothing wait
/// for that hour. Only a step back that follows a clock which was plainly wrong lets it go back.
///
/// Safe to share.
package final class SteadyTime: Sendable {
    /// Time since some moment, on a monotonic clock.
    package typealias Uptime = @Sendable () -> Duration

    /// A step of the system's clock that is not believed yet.
    fileprivate struct Step {
        /// In nanoseconds, as ``since``.
        var gap: Int64
        var since: Int64
    }

    fileprivate struct State {
        /// Nanoseconds since the epoch: many calls within a millisecond must not round time away. As a number, since a
        /// request asks for the time several times, and a `Duration` divides 128 bits each time.
        var time: Int64
        var uptime: Int64
        var step: Step?
    }

    /// A store whose newest row is further ahead than this was written under a clock that was plainly wrong.
    static let longestStep: Duration = .seconds(2 * 3600)
    /// A step forwards up to this is followed at once.
    static let trustedStep: Duration = .seconds(10)
    /// How long a larger step has to stay.
    static let confirmation: Duration = .seconds(60)

    /// In nanoseconds.
    private static let millisecond: Int64 = 1_000_000

    private let system: WallTime
    private let uptime: Uptime
    private let state: Mutex<State>

    /// Begins to count.
    ///
    /// - Parameters:
    ///   - system: the clock of the machine.
    ///   - lastRecordedAt: the newest time in the store. The clock may have been set back while no gateway ran: up to two
    ///     hours are made up for.
    package init(system: @escaping WallTime, uptime: @escaping Uptime, lastRecordedAt: Timestamp?) {
        let now = system()
        var start = now
        if let last = lastRecordedAt, last > now, last - now <= Self.longestStep { start = last }
        self.system = system
        self.uptime = uptime
        state = Mutex(State(time: start.milliseconds.multiplied(by: Self.millisecond), uptime: uptime().nanoseconds))
    }

    /// The time.
    package func now() -> Timestamp {
        let (system, uptime) = (system().milliseconds.multiplied(by: Self.millisecond), uptime().nanoseconds)
        return state.withLock { state in
            // Another thread may have read the clocks later and come here first.
            state.advance(to: max(uptime, state.uptime), system: system)
            return Timestamp(milliseconds: state.time / Self.millisecond)
        }
    }
}

extension SteadyTime.State {
    fileprivate mutating func advance(to uptime: Int64, system: Int64) {
        let elapsed = uptime - self.uptime
        let steady = time + elapsed
        let gap = system - steady
        self.uptime = uptime
        if gap > SteadyTime.trustedStep.nanoseconds || gap < -SteadyTime.longestStep.nanoseconds {
            time = isConfirmed(gap, at: uptime) ? system : steady
        } else {
            step = nil
            time = max(system, time + elapsed / 10 * 9 + elapsed % 10 * 9 / 10)
        }
    }

    /// Whether a step has stayed long enough; one that changes begins anew.
    private mutating func isConfirmed(_ gap: Int64, at uptime: Int64) -> Bool {
        guard let known = step, abs(gap - known.gap) <= SteadyTime.trustedStep.nanoseconds else {
            step = SteadyTime.Step(gap: gap, since: uptime)
            return false
        }
        guard uptime - known.since >= SteadyTime.confirmation.nanoseconds else { return false }
        step = nil
        return true
    }
}

extension Duration {
    /// The whole nanoseconds; of durations beyond 100 years, those of 100 years: nothing that counts here is so far off.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let bounded = min(max(seconds, -3_155_760_000), 3_155_760_000)
        return bounded * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

extension Int64 {
    /// Nanoseconds since the epoch end in 2262: a clock beyond that shows this moment.
    fileprivate func multiplied(by factor: Int64) -> Int64 {
        // A quarter of the range is left for what is added to it.
        Swift.min(Swift.max(self, -(Self.max / 4 / factor)), Self.max / 4 * 3 / factor) * factor
    }
}
