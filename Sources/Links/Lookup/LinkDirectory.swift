import ServiceLifecycle
package import Store
import Synchronization

/// A link with its parameters read. Immutable, safe to share.
package final class ResolvedLink: Sendable {
    /// The link as the store has it.
    package let link: Link
    /// Its parameters.
    package let parameters: LinkParameters
    /// Where it leads computers, with the settings that this follows from.
    private let computerURL = Mutex<(version: LinkTenant.Version, url: String)?>(nil)

    /// Reads the parameters of a link.
    package init(_ link: Link) {
        self.link = link
        parameters = LinkParameters(query: link.parameters)
    }

    /// Where it leads computers under these settings, when that was kept.
    func computerURL(under version: LinkTenant.Version) -> String? {
        computerURL.withLock { known in known.flatMap { $0.version === version ? $0.url : nil } }
    }

    /// Keeps where it leads computers.
    func keep(computerURL url: String, under version: LinkTenant.Version) {
        computerURL.withLock { $0 = (version, url) }
    }
}

/// The links by prefix and suffix, for redirects: what was looked up lately is answered without the store, also that there
/// is no such link.
///
/// What this process made or changed shows at once: an entry is good at the ``LinkVersions`` that it was read at. What
/// another process did shows after ``lifetime`` at most: while ``run()`` hears from the store that no other process
/// committed anything, entries go on being good, and without it each is asked for again. The memory is bounded: there are
/// two generations of entries, one that is used moves to the young one, and when that is full the old one goes.
///
/// Safe to share: a lock for a part of the keys, held for a look into a dictionary.
package final class LinkDirectory: Service {
    /// How long an entry is good without hearing of the store.
    package static let lifetime: Duration = .milliseconds(500)
    /// The time between two questions what others commit: an answer may take as long again.
    private static let interval: Duration = .milliseconds(250)

    fileprivate struct Entry {
        /// `nil`: there is no such link.
        let link: ResolvedLink?
        let versions: LinkVersions
        let readAt: ContinuousClock.Instant
        /// ``Others/era`` before it was read.
        let era: UInt64
    }

    /// What is known of other processes' commits.
    private struct Others {
        /// Ascends when there may have been one.
        var era: UInt64 = 0
        /// What the store said the last time.
        var commits: Int64?
        /// Up to when none is missing.
        var seenAt: ContinuousClock.Instant?
        /// Whether a link was looked for since.
        var isWanted = false
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
    private let others = Mutex(Others())
    /// Entries of a generation of a part.
    private let limit: Int
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - limit: about how many entries are kept at most; one takes some hundred bytes.
    ///   - clock: by which ``run()`` waits.
    ///   - now: the time, which never steps back.
    package init(
        store: any LinkStore, limit: Int = 100_000, clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.store = store
        self.clock = clock
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
        let era = others.withLock { others in
            others.isWanted = true
            return (now: others.era, isKnown: others.seenAt.map { time - $0 < Self.lifetime } ?? false)
        }
        let known = part.shelf.withLock { $0.entry(key, limit: limit) }
        if let known, known.isGood(at: versions),
            era.isKnown && known.era == era.now || time - known.readAt < Self.lifetime
        {
            return known.link
        }
        let found = try await store.link(key)
        // One that did not change keeps what was read of it.
        let link = found == known?.link?.link ? known?.link : found.map(ResolvedLink.init)
        let entry = Entry(link: link, versions: versions, readAt: time, era: era.now)
        part.shelf.withLock { $0.keep(entry, as: key, limit: limit) }
        return link
    }

    // MARK: Other processes

    /// Goes on asking the store what others commit, until graceful shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                while true {
                    try await self.clock.sleep(for: Self.interval)
                    await self.hearOfOthers()
                }
            } catch {
                // Cancelled: the gateway stops.
            }
        }
    }

    /// Asks the store whether others committed anything, if any link was looked for since the last time.
    package func hearOfOthers() async {
        let isWanted = others.withLock { others in
            defer { others.isWanted = false }
            return others.isWanted
        }
        guard isWanted else { return }
        // Before the store is asked: a commit after that is not in its answer.
        let time = now()
        do throws(StoreError) {
            let commits = try await store.otherCommits()
            others.withLock { others in
                if commits != others.commits { others.era += 1 }
                (others.commits, others.seenAt) = (commits, time)
            }
        } catch {
            // Each link is asked for again then, and who asks is told of the error.
        }
    }
}

extension LinkDirectory.Entry {
    /// Whether nothing was committed since that may have changed it.
    fileprivate func isGood(at now: LinkVersions) -> Bool {
        link == nil ? versions == now : versions.changed == now.changed
    }
}
