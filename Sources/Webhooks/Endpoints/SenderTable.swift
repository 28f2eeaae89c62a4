import Store
import Synchronization

/// The senders that run, by their endpoints.
final class SenderTable: Sendable {
    private struct Entry {
        let signal = WakeSignal()
        var revision: Int64
    }

    private let entries = Mutex<[WebhookID: Entry]>([:])
    /// Raised when endpoints changed, or a sender has ended.
    let changed = WakeSignal()

    /// Takes an endpoint in; `nil`: its sender runs already, and hears of what changed.
    func add(_ endpoint: WebhookEndpoint) -> WakeSignal? {
        let (signal, isNew) = entries.withLock { entries in
            if var entry = entries[endpoint.id] {
                defer {
                    entry.revision = endpoint.revision
                    entries[endpoint.id] = entry
                }
                return (entry.revision == endpoint.revision ? nil : entry.signal, false)
            }
            let entry = Entry(revision: endpoint.revision)
            entries[endpoint.id] = entry
            return (entry.signal, true)
        }
        guard !isNew else { return signal }
        signal?.raiseReload()
        return nil
    }

    /// A sender has ended.
    func remove(_ id: WebhookID) {
        entries.withLock { $0[id] = nil }
        changed.raise()
    }

    /// Tells senders of endpoints that are not enabled any more.
    func retain(_ endpoints: [WebhookEndpoint]) {
        let enabled = Set(endpoints.filter { $0.state == .enabled }.map(\.id))
        let others = entries.withLock { $0.filter { !enabled.contains($0.key) } }
        for entry in others.values { entry.signal.raiseReload() }
    }

    /// There are events.
    func wakeAll() {
        let signals = entries.withLock { $0.values.map(\.signal) }
        for signal in signals { signal.raise() }
    }
}
