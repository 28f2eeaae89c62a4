package import Metrics
import PushModel
package import Store
import Synchronization

/// What waits, held against the limits: messages and bytes, in total and of each project.
///
/// The store counts what is committed, with each commit; here is counted what is on its way into it. A message counts
/// twice for the moment between its commit and the caller's resumption: the limits may refuse a little early, they never
/// let more in, and no error can add up.
package final class Admission: Sendable {
    private struct Entering {
        var total = StoreLoad.Sum()
        var byProject: [ProjectID: StoreLoad.Sum] = [:]
    }

    private let limits: DeliveryLimits
    private let store: any MessageStore
    private let entering = Mutex(Entering())
    private let gauge: Gauge

    /// Holds the load of `store` against `limits`.
    ///
    /// - Parameter metrics: where the figures go.
    package init(
        in store: any MessageStore, limits: DeliveryLimits, metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        gauge = Gauge(label: MetricName.activeMessages.rawValue, factory: metrics)
        self.store = store
        self.limits = limits
        Gauge(label: MetricName.activeMessagesLimit.rawValue, factory: metrics).record(limits.messagesWaiting)
        record()
    }

    /// Takes a place for a message of `bytes` that is about to be committed; ``leave(_:bytes:)`` follows when the commit
    /// ended.
    ///
    /// - Returns: the limit that has no place for it; `nil`: it has its place.
    func enter(_ project: ProjectID, bytes: Int) -> WaitingLimit? {
        let load = store.load
        return entering.withLock { entering in
            let own = entering.byProject[project] ?? StoreLoad.Sum()
            if let limit = full(load, entering.total, own, project, bytes: bytes) { return limit }
            entering.total.add(bytes: bytes)
            entering.byProject[project, default: StoreLoad.Sum()].add(bytes: bytes)
            return nil
        }
    }

    /// The limit that would refuse a message of `bytes` now.
    func full(_ project: ProjectID, bytes: Int) -> WaitingLimit? {
        let entering = entering.withLock { ($0.total, $0.byProject[project] ?? StoreLoad.Sum()) }
        return full(store.load, entering.0, entering.1, project, bytes: bytes)
    }

    private func full(
        _ load: StoreLoad, _ total: StoreLoad.Sum, _ own: StoreLoad.Sum, _ project: ProjectID, bytes: Int
    ) -> WaitingLimit? {
        let committed = load.byProject[project] ?? StoreLoad.Sum()
        if load.total.messages + total.messages >= limits.messagesWaiting { return .messages }
        if load.total.bytes + total.bytes + bytes > limits.bytesWaiting { return .bytes }
        if let limit = limits.projectMessagesWaiting, committed.messages + own.messages >= limit {
            return .projectMessages
        }
        if let limit = limits.projectBytesWaiting, committed.bytes + own.bytes + bytes > limit {
            return .projectBytes
        }
        return nil
    }

    /// The commit of an admitted message came to its end: from now on the store counts it, if it was committed.
    func leave(_ project: ProjectID, bytes: Int) {
        entering.withLock { entering in
            entering.total.remove(bytes: bytes)
            entering.byProject[project]?.remove(bytes: bytes)
            if entering.byProject[project]?.messages == 0 { entering.byProject[project] = nil }
        }
    }

    /// Shows the store's count.
    func record() {
        gauge.record(store.load.total.messages)
    }
}

extension StoreLoad.Sum {
    fileprivate mutating func add(bytes: Int) {
        messages += 1
        self.bytes += bytes
    }

    fileprivate mutating func remove(bytes: Int) {
        messages -= 1
        self.bytes -= bytes
    }
}
