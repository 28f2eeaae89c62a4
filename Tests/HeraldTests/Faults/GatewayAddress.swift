import Synchronization

/// Where the gateway of a run is, which is killed and started again: callers wait here while there is none.
///
/// Safe to share.
final class GatewayAddress: Sendable {
    private struct State {
        var baseURL: String?
        var isOver = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Where the gateway is now; `nil`: nowhere, the callers wait.
    func use(_ baseURL: String?) {
        resume { $0.baseURL = baseURL }
    }

    /// Lets the callers end.
    func finish() {
        resume { $0.isOver = true }
    }

    /// A gateway that has gone is not asked again; the run names the next one.
    func forget(_ baseURL: String) {
        state.withLock { if $0.baseURL == baseURL { $0.baseURL = nil } }
    }

    /// Where to ask; `nil` when the run is over, as it is when one caller is cancelled.
    func next() async -> String? {
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            finish()
        }
    }

    private func wait() async -> String? {
        while true {
            // Between the wait and this look the gateway may have gone again.
            let (baseURL, isOver) = state.withLock { ($0.baseURL, $0.isOver) }
            if isOver { return nil }
            if let baseURL { return baseURL }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isOver || state.baseURL != nil { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    private func resume(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            guard state.baseURL != nil || state.isOver else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
