import Synchronization

/// How many requests may be under way: in all, to one host, and of endpoints that fail, so that these leave room for the
/// others. Who comes first goes first, as far as their host and kind have room.
package final class SendingSlots: Sendable {
    /// The limits.
    package struct Limits: Hashable, Sendable {
        /// Requests in all.
        package var total = 64
        /// Requests to one host.
        package var perHost = 8
        /// Requests of endpoints that failed the last time.
        package var failing = 32

        /// The usual limits.
        package init() {}
    }

    private struct Waiter {
        let number: Int
        let host: String
        let isFailing: Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var total = 0
        var failing = 0
        var hosts: [String: Int] = [:]
        var waiters: [Waiter] = []
        var next = 0
    }

    private let limits: Limits
    private let state = Mutex(State())

    /// Prepares slots.
    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Requests under way.
    package var inUse: Int { state.withLock { $0.total } }

    /// Requests that wait.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// The most requests under way.
    package var limit: Int { limits.total }

    /// Does `work` once there is room; `nil`: the task was cancelled before.
    package func run<Value: Sendable>(
        host: String, isFailing: Bool, _ work: () async -> Value
    ) async -> Value? {
        guard await take(host, isFailing) else { return nil }
        defer { give(host, isFailing) }
        return await work()
    }

    private func take(_ host: String, _ isFailing: Bool) async -> Bool {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    if hasRoom(state, host, isFailing) {
                        Self.count(1, host, isFailing, in: &state)
                        return true
                    }
                    state.waiters.append(
                        Waiter(number: number, host: host, isFailing: isFailing, continuation: continuation))
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLock { state in
                // None: it has its slot, or sees that it is cancelled before it comes to wait.
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    private func give(_ host: String, _ isFailing: Bool) {
        let ready: [Waiter] = state.withLock { state in
            Self.count(-1, host, isFailing, in: &state)
            var (ready, rest): ([Waiter], [Waiter]) = ([], [])
            for waiter in state.waiters {
                if hasRoom(state, waiter.host, waiter.isFailing) {
                    Self.count(1, waiter.host, waiter.isFailing, in: &state)
                    ready.append(waiter)
                } else {
                    rest.append(waiter)
                }
            }
            state.waiters = rest
            return ready
        }
        for waiter in ready { waiter.continuation.resume(returning: true) }
    }

    private func hasRoom(_ state: State, _ host: String, _ isFailing: Bool) -> Bool {
        state.total < limits.total && state.hosts[host, default: 0] < limits.perHost
            && (!isFailing || state.failing < limits.failing)
    }

    private static func count(_ change: Int, _ host: String, _ isFailing: Bool, in state: inout State) {
        state.total += change
        if isFailing { state.failing += change }
        let ofHost = state.hosts[host, default: 0] + change
        state.hosts[host] = ofHost == 0 ? nil : ofHost
    }
}
