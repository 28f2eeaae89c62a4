import Delivery
import Synchronization

/// Wakes the task of one endpoint: raised any number of times from any thread, seen once. Like the event of a delivery's
/// worker, it remembers what it was raised for.
final class WakeSignal: Sendable {
    private struct State {
        var isRaised = false
        var mustReload = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// There may be something to send.
    func raise() { raise(reload: false) }

    /// The endpoint changed.
    func raiseReload() { raise(reload: true) }

    /// Whether the endpoint changed since this was asked last.
    func takeReload() -> Bool {
        state.withLock { state in
            defer { state.mustReload = false }
            return state.mustReload
        }
    }

    /// Waits until it is raised, no longer than `duration`; `nil`: without an end. Ends early when the task is cancelled.
    func wait(atMost duration: Duration?, on clock: any Clock<Duration>) async {
        guard let duration else { return await wait() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            // Cancelled when it was raised first.
            group.addTask { await clock.pause(duration) }
            await group.next()
            group.cancelAll()
        }
    }

    private func raise(reload: Bool) {
        let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
            if reload { state.mustReload = true }
            defer { state.waiter = nil }
            if state.waiter == nil { state.isRaised = true }
            return state.waiter
        }
        waiter?.resume()
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.isRaised || Task.isCancelled {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            raise()
        }
    }
}
