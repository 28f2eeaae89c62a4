import Store
import Synchronization

/// Counts what this process commits of links.
final class LinkClock: Sendable {
    private let made = Atomic<UInt64>(0)
    private let changed = Atomic<UInt64>(0)

    /// The counts of now.
    var versions: LinkVersions {
        LinkVersions(made: made.load(ordering: .acquiring), changed: changed.load(ordering: .acquiring))
    }

    /// Links were made: after the commit.
    func noteMade() {
        made.add(1, ordering: .releasing)
    }

    /// A link was changed: after the commit.
    func noteChanged() {
        changed.add(1, ordering: .releasing)
    }
}
