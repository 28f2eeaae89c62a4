import Synchronization

/// The door of a pool's queue, between callers and the loop: counts who is inside, makes the others wait, and carries
/// the figures the loop publishes.
final class PoolGate: Sendable {
    private struct Waiter {
        let wanted: Int
        let continuation: CheckedContinuation<Int, Never>
    }

    /// One for urgent requests and one for the others, so that neither keeps the other waiting.
    private struct Line {
        var queued = 0
        /// In order of arrival.
        var waiters: [Waiter] = []
    }

    private struct State {
        var urgent = Line()
        var normal = Line()
        var isClosed = false
        var statistics = PoolStatistics()

        var queued: Int { urgent.queued + normal.queued }
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the most places for urgent requests, and for the others.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Takes up to `wanted` places, at least one; suspends until there is room. 0: the pool is closed.
    ///
    /// Cancellation does not cut the wait short: a place comes free within the queue time limit at the latest.
    func enter(_ wanted: Int, isUrgent: Bool) async -> Int {
        await withCheckedContinuation { continuation in
            let waiter = Waiter(wanted: wanted, continuation: continuation)
            let granted: Int? = state.withLock { state in
                if state.isClosed { return 0 }
                return isUrgent ? admit(waiter, to: &state.urgent) : admit(waiter, to: &state.normal)
            }
            if let granted { continuation.resume(returning: granted) }
        }
    }

    /// `nil`: it has to wait.
    private func admit(_ waiter: Waiter, to line: inout Line) -> Int? {
        guard line.waiters.isEmpty, line.queued < limit else {
            line.waiters.append(waiter)
            return nil
        }
        let granted = min(waiter.wanted, limit - line.queued)
        line.queued += granted
        return granted
    }

    /// `count` requests have left the queue: lets waiting callers in.
    func leave(_ count: Int, isUrgent: Bool) {
        state.withLock { state in
            if isUrgent { state.urgent.queued -= count } else { state.normal.queued -= count }
        }
        // One at a time, so that no list is made: there is seldom more than one.
        while let (waiter, granted) = state.withLock({ state in
            isUrgent ? admitNext(&state.urgent) : admitNext(&state.normal)
        }) {
            waiter.continuation.resume(returning: granted)
        }
    }

    private func admitNext(_ line: inout Line) -> (Waiter, Int)? {
        // Room for a handful is not worth a caller's wake-up, unless it is all that is wanted.
        guard let waiter = line.waiters.first, limit - line.queued >= min(waiter.wanted, max(1, limit / 8)) else {
            return nil
        }
        let granted = min(waiter.wanted, limit - line.queued)
        line.queued += granted
        line.waiters.removeFirst()
        return (waiter, granted)
    }

    /// Admits no more requests; callers that wait are told so.
    func close() {
        let turnedAway = state.withLock { state in
            state.isClosed = true
            defer {
                state.urgent.waiters = []
                state.normal.waiters = []
            }
            return state.urgent.waiters + state.normal.waiters
        }
        for waiter in turnedAway { waiter.continuation.resume(returning: 0) }
    }

    func publish(_ statistics: PoolStatistics) {
        state.withLock { $0.statistics = statistics }
    }

    /// Callers that wait.
    var waiting: Int {
        state.withLock { $0.urgent.waiters.count + $0.normal.waiters.count }
    }

    var statistics: PoolStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.queued = state.queued
            return statistics
        }
    }
}
