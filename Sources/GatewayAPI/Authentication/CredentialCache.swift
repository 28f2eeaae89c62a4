import Synchronization

/// Credentials that were found lately, so that not every request asks the store.
///
/// A credential is asked for again after ``lifetime``: that is how long a revoked one goes on at most, also one that
/// another process revoked. Those that are unknown are not kept: a new one works at once, and made-up ones take no room.
/// What is kept is what the store keeps, never a secret.
final class CredentialCache<ID: Hashable & Sendable, Record: Sendable>: Sendable {
    /// How old an entry may be.
    static var lifetime: Duration { .milliseconds(500) }
    /// As many credentials are kept at most.
    static var limit: Int { 10_000 }

    private struct Entry {
        var record: Record
        var readAt: ContinuousClock.Instant
    }

    private let entries = Mutex<[ID: Entry]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: the time, which never steps back.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// The credential with this id as it was found last, however long ago; `nil`: it was not found lately.
    func lastRecord(_ id: ID) -> Record? {
        entries.withLock { $0[id]?.record }
    }

    /// The credential with this id, unless the store is to be asked for it again.
    func freshRecord(_ id: ID) -> Record? {
        guard let entry = entries.withLock({ $0[id] }), now() - entry.readAt < Self.lifetime else { return nil }
        return entry.record
    }

    /// Keeps a credential that was found elsewhere.
    func keep(_ record: Record, as id: ID) {
        let time = now()
        entries.withLock { entries in
            if entries.count >= Self.limit { entries.removeAll(keepingCapacity: true) }
            entries[id] = Entry(record: record, readAt: time)
        }
    }

    /// The credential with this id, from here or as `read` finds it, also a revoked one.
    func record<Failure: Error>(
        _ id: ID, read: (ID) async throws(Failure) -> Record?
    ) async throws(Failure) -> Record? {
        // The time before the store is asked: the entry is as old as what was read.
        let time = now()
        if let entry = entries.withLock({ $0[id] }), time - entry.readAt < Self.lifetime { return entry.record }
        let record = try await read(id)
        entries.withLock { entries in
            if entries.count >= Self.limit { entries.removeAll(keepingCapacity: true) }
            entries[id] = record.map { Entry(record: $0, readAt: time) }
        }
        return record
    }
}
