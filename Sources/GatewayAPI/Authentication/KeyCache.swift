import Store
import Synchronization

/// API keys that were found lately, so that not every request asks the store.
///
/// A key is asked for again after ``lifetime``: that is how long a revoked one goes on at most, also one that another
/// process revoked. Keys that are unknown are not kept: a new key works at once, and made-up ones take no room. What is
/// kept is what the store keeps, never a key's text.
final class KeyCache: Sendable {
    /// How old an entry may be.
    static let lifetime: Duration = .milliseconds(500)
    /// As many keys are kept at most.
    static let limit = 10_000

    private struct Entry {
        var record: APIKeyRecord
        var readAt: ContinuousClock.Instant
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: the time, which never steps back.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// The key with this id, from here or from `store`, also a revoked one.
    func key(_ id: String, from store: any CredentialStore) async throws(StoreError) -> APIKeyRecord? {
        // The time before the store is asked: the entry is as old as what was read.
        let time = now()
        if let entry = entries.withLock({ $0[id] }), time - entry.readAt < Self.lifetime { return entry.record }
        let record = try await store.apiKey(id)
        entries.withLock { entries in
            if entries.count >= Self.limit { entries.removeAll(keepingCapacity: true) }
            entries[id] = record.map { Entry(record: $0, readAt: time) }
        }
        return record
    }
}
