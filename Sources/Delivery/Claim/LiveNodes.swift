package import Store
import Synchronization

/// How many gateways work on the store now, this one among them, and whether this one does what only one of them is to do.
/// Each takes its share of a pace that holds for all of them together, and its shards of a broadcast. Safe to share.
package final class LiveNodes: Sendable {
    private struct State {
        var standing = NodeStanding(count: 1, place: 0, isFirst: true)
        /// Until when ``isFirst`` counts; `nil`: forever.
        var end: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let changed = Mutex<(@Sendable (Int) -> Void)?>(nil)

    /// This gateway alone.
    package init() {}

    /// How many there are; 1 at least.
    package var count: Int { state.withLock { $0.standing.count } }

    /// Whether this is the first of them: it sends webhooks and clears away. Others take that over when it was silent for
    /// ``StoreNode/lifetime``, so without a new word it is over here before.
    package var isFirst: Bool {
        state.withLock { state in state.standing.isFirst && state.end.map { ContinuousClock.now < $0 } ?? true }
    }

    /// The shards that this gateway claims from before the others do.
    var shards: ShardShare {
        state.withLock { ShardShare(of: $0.standing.count, at: $0.standing.place) }
    }

    /// Nothing is known yet of others that share the store.
    package func beginBesideOthers() {
        state.withLock { $0.standing.isFirst = false }
    }

    /// Sets what is called with ``count`` when that or ``shards`` changed; without a lock held, by the caller of
    /// ``update(to:asked:)``.
    package func onChange(_ body: @escaping @Sendable (Int) -> Void) {
        changed.withLock { $0 = body }
    }

    /// Notes what the store said. Called by one task.
    ///
    /// - Parameter asked: when it was asked.
    package func update(to standing: NodeStanding, asked: ContinuousClock.Instant) {
        let before = state.withLock { state in
            defer { state = State(standing: standing, end: asked + StoreNode.lifetime) }
            return state.standing
        }
        guard (before.count, before.place) != (standing.count, standing.place) else { return }
        changed.withLock { $0 }?(standing.count)
    }
}
