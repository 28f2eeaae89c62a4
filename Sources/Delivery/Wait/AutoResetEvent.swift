import Synchronization

/// An event between threads and one waiting task: raised any number of times, seen once, never lost.
///
/// ``raise()`` is cheap and may be called from any thread; at most one task waits at a time. A wait may also end for no
/// reason: the waiting task looks at the state afterwards.
package final class AutoResetEvent: Sendable {
    private enum State {
        /// No task waits, nothing happened. Next: raised, waiting.
        case idle
        /// Something happened that no task has seen. Next: idle.
        case raised
        /// A task waits. Next: idle.
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex<State>(.idle)

    /// Nothing happened yet.
    package init() {}

    /// Wakes the waiting task, or the next one that comes to wait.
    package func raise() {
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            switch state {
            case .idle, .raised:
                state = .raised
                return nil
            case .waiting(let continuation):
                state = .idle
                return continuation
            }
        }
        waiter?.resume()
    }

    /// Waits for ``raise()``; returns at once if there was one since the last wait, or when the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    switch state {
                    case .idle where !Task.isCancelled:
                        state = .waiting(continuation)
                        return false
                    case .idle, .raised:
                        state = .idle
                        return true
                    case .waiting:
                        preconditionFailure("a second task waits for an event")
                    }
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            // If the cancellation comes between the check above and the wait, this ends the wait.
            raise()
        }
    }

    /// Waits as ``wait()`` does, but no longer than `duration`; `nil`: without an end.
    package func wait(atMost duration: Duration?, on clock: any Clock<Duration>) async {
        guard let duration else { return await wait() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            // Cancelled when the event comes first.
            group.addTask { await clock.pause(duration) }
            await group.next()
            group.cancelAll()
        }
    }
}
