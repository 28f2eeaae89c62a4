package import PushModel
import Synchronization

/// A clock that stands still until the test moves it. Who sleeps on it can be awaited, so that no test has to guess
/// whether the code under test has gone to sleep yet.
package final class TestClock: Clock, Sendable {
    /// A point on the clock, counted from its start.
    package struct Instant: InstantProtocol {
        /// The time since the start.
        package let offset: Duration

        /// The instant `duration` later.
        package func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// The time from here to `other`.
        package func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Whether `lhs` is earlier.
        package static func < (lhs: Instant, rhs: Instant) -> Bool {
            lhs.offset < rhs.offset
        }
    }

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    /// A task that waits until enough tasks sleep.
    private struct Watcher {
        var count: Int
        var within: Duration
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [Watcher] = []

        func count(within duration: Duration) -> Int {
            let limit = now.advanced(by: duration)
            return sleepers.values.count { $0.deadline <= limit }
        }

        /// Takes out the watchers that see what they wait for.
        mutating func satisfied() -> [CheckedContinuation<Void, Never>] {
            var ready: [CheckedContinuation<Void, Never>] = []
            var rest: [Watcher] = []
            for watcher in watchers {
                if count(within: watcher.within) >= watcher.count {
                    ready.append(watcher.continuation)
                } else {
                    rest.append(watcher)
                }
            }
            watchers = rest
            return ready
        }
    }

    private let state = Mutex(State())

    /// Starts at zero.
    package init() {}

    /// The time now.
    package var now: Instant {
        state.withLock { $0.now }
    }

    /// The clock does not tick.
    package var minimumResolution: Duration { .zero }

    /// Wall time that starts at `start` and moves with the clock.
    package func wallTime(startingAt start: Timestamp) -> WallTime {
        { start + self.now.offset }
    }

    /// Sleeps until the test has moved the clock to `deadline`.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(Sleeper(deadline: deadline, continuation: continuation), id: id)
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func enter(_ sleeper: Sleeper, id: Int) {
        enum Entry {
            case cancelled, due
            case asleep([CheckedContinuation<Void, Never>])
        }
        let entry: Entry = state.withLock { state in
            if state.cancelled.remove(id) != nil { return .cancelled }
            if sleeper.deadline <= state.now { return .due }
            state.sleepers[id] = sleeper
            return .asleep(state.satisfied())
        }
        switch entry {
        case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
        case .due: sleeper.continuation.resume()
        case .asleep(let watchers): watchers.forEach { $0.resume() }
        }
    }

    /// Moves the clock and wakes the sleepers that are due.
    package func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        due.forEach { $0.continuation.resume() }
    }

    /// Waits until at least `count` tasks sleep whose time comes within `duration`.
    package func sleepers(_ count: Int = 1, within duration: Duration) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count(within: duration) >= count { return true }
                state.watchers.append(Watcher(count: count, within: duration, continuation: continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Waits until a task sleeps whose time comes within `duration`, and moves the clock to the first such time.
    package func advanceToSleeper(within duration: Duration) async {
        while true {
            await sleepers(within: duration)
            let step = state.withLock { state in
                state.sleepers.values.map { state.now.duration(to: $0.deadline) }.min()
            }
            // It may have been woken by something else meanwhile: then others sleep longer than was asked for.
            guard let step, step <= duration else { continue }
            return advance(by: step)
        }
    }
}
