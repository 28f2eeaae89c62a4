import Synchronization

/// How many gateways share what an upstream may have, this one among them: each takes an equal part, at least one. Safe to
/// share.
final class NodeCount: Sendable {
    private let count = Atomic(1)

    /// How many; 1 at least.
    var value: Int {
        get { count.load(ordering: .acquiring) }
        set { count.store(max(1, newValue), ordering: .releasing) }
    }

    /// This gateway's part of something that is `limit` for all of them together.
    static func part(of limit: Int, among nodes: Int) -> Int { max(1, limit / max(1, nodes)) }
}
