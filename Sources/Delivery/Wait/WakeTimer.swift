import Synchronization

/// Raises an event when a time has come: one task sleeps for all waits, until the earliest of their ends.
///
/// A wait that ended early leaves its time behind, at which the event is raised for no reason: so the many waits of a lane
/// that has work start no task and end none. ``run()`` is the task; ``wake(within:)`` may be called from any thread.
final class WakeTimer: Sendable {
    private let event: AutoResetEvent
    private let clock: any Clock<Duration>
    private let uptime: @Sendable () -> Duration
    /// The earliest end of a wait; `nil`: none has one.
    private let due = Mutex<Duration?>(nil)
    private let hasChanged = AutoResetEvent()

    init(raising event: AutoResetEvent, on clock: any Clock<Duration>) {
        self.event = event
        self.clock = clock
        uptime = Self.uptime(of: clock)
    }

    /// Raises the event after `duration` at the latest.
    func wake(within duration: Duration) {
        let time = uptime() + duration
        let isEarlier = due.withLock { due in
            if let due, due <= time { return false }
            due = time
            return true
        }
        if isEarlier { hasChanged.raise() }
    }

    /// Sleeps and raises until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            guard let time = due.withLock({ $0 }) else {
                await hasChanged.wait()
                continue
            }
            let rest = time - uptime()
            if rest > .zero {
                await hasChanged.wait(atMost: rest, on: clock)
            } else {
                due.withLock { if $0 == time { $0 = nil } }
                event.raise()
            }
        }
    }

    private static func uptime<C: Clock<Duration>>(of clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
