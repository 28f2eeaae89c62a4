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
        var gap: Duration
        var since: Duration
    }

    fileprivate struct State {
        /// Since the epoch, finer than a millisecond: many calls within one must not round time away.
        var time: Duration
        var uptime: Duration
        var step: Step?
    }

    /// A store whose newest row is further ahead than this was written under a clock that was plainly wrong.
    static let longestStep: Duration = .seconds(2 * 3600)
    /// A step forwards up to this is followed at once.
    static let trustedStep: Duration = .seconds(10)
    /// How long a larger step has to stay.
    static let confirmation: Duration = .seconds(60)

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
        state = Mutex(State(time: .milliseconds(start.milliseconds), uptime: uptime()))
    }

    /// The time.
    package func now() -> Timestamp {
        let (system, uptime) = (Duration.milliseconds(system().milliseconds), uptime())
        return state.withLock { state in
            // Another thread may have read the clocks later and come here first.
            state.advance(to: max(uptime, state.uptime), system: system)
            return Timestamp(milliseconds: state.time.wholeMilliseconds)
        }
    }
}

extension SteadyTime.State {
    fileprivate mutating func advance(to uptime: Duration, system: Duration) {
        let elapsed = uptime - self.uptime
        let steady = time + elapsed
        let gap = system - steady
        self.uptime = uptime
        if gap > SteadyTime.trustedStep || gap < .zero - SteadyTime.longestStep {
            time = isConfirmed(gap, at: uptime) ? system : steady
        } else {
            step = nil
            time = max(system, time + elapsed * 9 / 10)
        }
    }

    /// Whether a step has stayed long enough; one that changes begins anew.
    private mutating func isConfirmed(_ gap: Duration, at uptime: Duration) -> Bool {
        guard let known = step, abs(gap - known.gap) <= SteadyTime.trustedStep else {
            step = SteadyTime.Step(gap: gap, since: uptime)
            return false
        }
        guard uptime - known.since >= SteadyTime.confirmation else { return false }
        step = nil
        return true
    }

    private func abs(_ duration: Duration) -> Duration {
        duration < .zero ? .zero - duration : duration
    }
}
