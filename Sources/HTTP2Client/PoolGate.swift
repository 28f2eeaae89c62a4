import Synchronization

/// The door of a pool's queue, between callers and the loop: counts who is inside, makes the others wait, and carries
/// the figures the loop publishes.
final class PoolGate: Sendable {
    private struct Waiter {
        let wanted: Int
        let continuation: CheckedContinuation<Int, Never>
    }

    private struct State {
        var queued = 0
        var isClosed = false
        /// Whether the pool may have connections behind this gate.
        var isInUse = true
        /// In order of arrival.
        var urgent: [Waiter] = []
        var normal: [Waiter] = []
        var statistics = ConnectionPool.Statistics()
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Takes up to `wanted` places, at least one; suspends until there is room. 0: the pool is closed.
    ///
    /// Cancellation does not cut the wait short: a place comes free within the queue time limit at the latest.
    func enter(_ wanted: Int, isUrgent: Bool) async -> Int {
        await withCheckedContinuation { continuation in
            let granted: Int? = state.withLock { state in
                if state.isClosed { return 0 }
                let isFirst = state.urgent.isEmpty && (isUrgent || state.normal.isEmpty)
                if isFirst, state.queued < limit {
                    let granted = min(wanted, limit - state.queued)
                    state.queued += granted
                    return granted
                }
                let waiter = Waiter(wanted: wanted, continuation: continuation)
                if isUrgent { state.urgent.append(waiter) } else { state.normal.append(waiter) }
                return nil
            }
            if let granted { continuation.resume(returning: granted) }
        }
    }

    /// `count` requests have left the queue: lets waiting callers in.
    func leave(_ count: Int) {
        state.withLock { $0.queued -= count }
        // One at a time, so that no list is made: there is seldom more than one.
        while let (waiter, granted) = state.withLock({ admitNext(&$0) }) {
            waiter.continuation.resume(returning: granted)
        }
    }

    private func admitNext(_ state: inout State) -> (Waiter, Int)? {
        // Room for a handful is not worth a caller's wake-up, unless it is all that is wanted.
        guard let waiter = state.urgent.first ?? state.normal.first,
            limit - state.queued >= min(waiter.wanted, max(1, limit / 8))
        else { return nil }
        let granted = min(waiter.wanted, limit - state.queued)
        state.queued += granted
        if state.urgent.isEmpty { state.normal.removeFirst() } else { state.urgent.removeFirst() }
        return (waiter, granted)
    }

    /// Lets nobody in any more; those who wait are told so.
    func close() {
        let turnedAway = state.withLock { state in
            state.isClosed = true
            defer {
                state.urgent = []
                state.normal = []
            }
            return state.urgent + state.normal
        }
        for waiter in turnedAway { waiter.continuation.resume(returning: 0) }
    }

    func publish(_ statistics: ConnectionPool.Statistics) {
        state.withLock { $0.statistics = statistics }
    }

    /// Callers that wait.
    var waiting: Int {
        state.withLock { $0.urgent.count + $0.normal.count }
    }

    /// Free streams less the requests that wait for one; behind an open circuit, or a gate that is not in use, there is
    /// less than none.
    var room: Int {
        state.withLock { state in
            let statistics = state.statistics
            guard state.isInUse, statistics.circuit != .open else { return .min }
            return statistics.streamLimit - statistics.streamsInUse - state.queued
        }
    }

    /// Whether the pool may have connections behind this gate.
    var isInUse: Bool {
        get { state.withLock { $0.isInUse } }
        set { state.withLock { $0.isInUse = newValue } }
    }

    var statistics: ConnectionPool.Statistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.queued = state.queued
            return statistics
        }
    }
}
