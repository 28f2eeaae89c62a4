import Metrics
import PushModel
public import Store
import Synchronization

/// How many messages are active, held against the limit: one count, kept by the acceptor and the runner together.
///
/// Counting in the store for each request would cost more than accepting. So the store counts once at the start, both
/// sides adjust the figure, and whenever it reaches the limit (at most once a second) or the runner looks after its
/// gauges, the store counts again: an error heals by itself.
public final class ActiveMessages: Sendable {
    private struct State {
        /// Committed and not complete; `nil` before the first count.
        var committed: Int?
        /// Being committed.
        var pending = 0
        /// When the store counted last because of the limit.
        var countedAt: Timestamp?

        var total: Int { (committed ?? 0) + pending }
    }

    /// The most messages that may be active.
    public let limit: Int
    private let state = Mutex(State())
    private let gauge = Gauge(label: MetricName.activeMessages.rawValue)

    /// Starts without a figure; the first ``admit(countedBy:at:)`` or ``recount(in:)`` asks the store.
    public init(limit: Int) {
        self.limit = limit
        Gauge(label: MetricName.activeMessagesLimit.rawValue).record(limit)
    }

    /// Asks the store for the figure.
    public func recount(in store: any MessageStore) async throws(StoreError) {
        let count = try await store.activeMessageCount()
        update { $0.committed = count }
    }

    /// The figure now.
    public var count: Int {
        state.withLock { $0.total }
    }

    /// Takes a place for a message that is about to be committed; ``settlePlace(isCommitted:)`` follows.
    ///
    /// - Returns: `false` when there is none.
    func admit(countedBy store: any MessageStore, at now: Timestamp) async throws(StoreError) -> Bool {
        switch tryPlace(at: now) {
        case .taken: return true
        case .full: return false
        case .countFirst: break
        }
        try await recount(in: store)
        return state.withLock { state in
            guard state.total < limit else { return false }
            state.pending += 1
            return true
        }
    }

    private enum Attempt {
        case taken, full, countFirst
    }

    private func tryPlace(at now: Timestamp) -> Attempt {
        state.withLock { state in
            if state.committed != nil, state.total < limit {
                state.pending += 1
                return .taken
            }
            // Wall time set back must not freeze the figure, hence the two-sided comparison.
            if state.committed != nil, let last = state.countedAt, last <= now, now < last + .seconds(1) {
                return .full
            }
            state.countedAt = now
            return .countFirst
        }
    }

    /// The commit of an admitted message came to its end.
    func settlePlace(isCommitted: Bool) {
        update { state in
            state.pending -= 1
            if isCommitted { state.committed = (state.committed ?? 0) + 1 }
        }
    }

    /// `count` messages are complete.
    func completed(_ count: Int) {
        guard count > 0 else { return }
        update { state in
            // Before the first count there is nothing to adjust.
            state.committed = state.committed.map { max(0, $0 - count) }
        }
    }

    private func update(_ change: (inout State) -> Void) {
        let total = state.withLock { state in
            change(&state)
            return state.total
        }
        gauge.record(total)
    }
}
