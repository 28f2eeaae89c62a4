package import Store
import Synchronization

/// A link with its parameters read. Immutable, safe to share.
package final class ResolvedLink: Sendable {
    /// The link as the store has it.
    package let link: Link
    /// Its parameters.
    package let parameters: LinkParameters

    /// Reads the parameters of a link.
    package init(_ link: Link) {
        self.link = link
        parameters = LinkParameters(query: link.parameters)
    }
}

/// The links by prefix and suffix, for redirects: what was looked up lately is answered without the store, also that there
/// is no such link.
///
/// What this process made or changed shows at once: an entry is good at the ``LinkVersions`` that it was read at. What
/// another process did shows after ``lifetime`` at most. The memory is bounded: there are two generations of entries, one
/// that is used moves to the young one, and when that is full the old one goes.
///
/// Safe to share: a lock for a part of the keys, held for a look into a dictionary.
package final class LinkDirectory: Sendable {
    /// How long an entry is good without being asked for again.
    package static let lifetime: Duration = .milliseconds(500)

    fileprivate struct Entry {
        /// `nil`: there is no such link.
        let link: ResolvedLink?
        let versions: LinkVersions
        let readAt: ContinuousClock.Instant
    }

    private struct Shelf {
        var young: [LinkKey: Entry] = [:]
        var old: [LinkKey: Entry] = [:]

        mutating func entry(_ key: LinkKey, limit: Int) -> Entry? {
            if let entry = young[key] { return entry }
            guard let entry = old.removeValue(forKey: key) else { return nil }
            keep(entry, as: key, limit: limit)
            return entry
        }

        mutating func keep(_ entry: Entry, as key: LinkKey, limit: Int) {
            if young.count >= limit {
                swap(&young, &old)
                young.removeAll(keepingCapacity: true)
            }
            young[key] = entry
        }
    }

    /// A lock with what it guards, where atomics may refer to it.
    private final class Part: Sendable {
        let shelf = Mutex(Shelf())
    }

    private let store: any LinkStore
    private let parts: [Part]
    /// Entries of a generation of a part.
    private let limit: Int
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - limit: about how many entries are kept at most; one takes some hundred bytes.
    ///   - now: the time, which never steps back.
    package init(
        store: any LinkStore, limit: Int = 100_000,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.store = store
        self.now = now
        parts = (0..<16).map { _ in Part() }
        self.limit = max(1, limit / (2 * parts.count))
    }

    /// How many entries are kept.
    package var count: Int {
        parts.reduce(0) { sum, part in sum + part.shelf.withLock { $0.young.count + $0.old.count } }
    }

    /// The link of a key, whatever its state; `nil`: there is none.
    package func link(_ key: LinkKey) async throws(StoreError) -> ResolvedLink? {
        let part = parts[Int(UInt(bitPattern: key.hashValue) % UInt(parts.count))]
        // Before the store is asked: the entry is as old as what was read.
        let (time, versions) = (now(), store.linkVersions)
        let known = part.shelf.withLock { $0.entry(key, limit: limit) }
        if let known, time - known.readAt < Self.lifetime, known.isGood(at: versions) { return known.link }
        let found = try await store.link(key)
        // One that did not change keeps what was read of it.
        let link = found == known?.link?.link ? known?.link : found.map(ResolvedLink.init)
        part.shelf.withLock { $0.keep(Entry(link: link, versions: versions, readAt: time), as: key, limit: limit) }
        return link
    }
}

extension LinkDirectory.Entry {
    /// Whether nothing was committed since that may have changed it.
    fileprivate func isGood(at now: LinkVersions) -> Bool {
        link == nil ? versions == now : versions.changed == now.changed
    }
}
