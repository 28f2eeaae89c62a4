import Metrics
import PushModel
public import Store
import Synchronization

/// How many messages are active, held against the limit.
///
/// The store counts what is committed, with each commit; here are counted the messages on their way into it. A message
/// counts twice for the moment between its commit and the caller's resumption: the limit may refuse a little early, it
/// never lets more in, and no error can add up.
public final class ActiveMessages: Sendable {
    /// The most messages that may be active.
    public let limit: Int
    private let store: any MessageStore
    private let entering = Mutex(0)
    private let gauge = Gauge(label: MetricName.activeMessages.rawValue)

    /// Holds the count of `store` against `limit`.
    public init(in store: any MessageStore, limit: Int) {
        self.store = store
        self.limit = limit
        Gauge(label: MetricName.activeMessagesLimit.rawValue).record(limit)
        record()
    }

    /// Takes a place for a message that is about to be committed; ``leave()`` follows when the commit ended.
    ///
    /// - Returns: `false` when there is none.
    func enter() -> Bool {
        let committed = store.activeMessages
        return entering.withLock { entering in
            guard committed + entering < limit else { return false }
            entering += 1
            return true
        }
    }

    /// The commit of an admitted message came to its end: from now on the store counts it, if it was committed.
    func leave() {
        entering.withLock { $0 -= 1 }
        record()
    }

    /// Shows the store's count.
    func record() {
        gauge.record(store.activeMessages)
    }
}
