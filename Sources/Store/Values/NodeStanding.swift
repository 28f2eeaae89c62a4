/// What a node is among the others that live.
package struct NodeStanding: Hashable, Sendable {
    /// How many nodes live, this one among them; 1 at least.
    package var count: Int
    /// Whether it has the lowest number of them: it does what only one node is to do.
    package var isFirst: Bool

    /// Describes a standing.
    package init(count: Int, isFirst: Bool) {
        self.count = max(1, count)
        self.isFirst = isFirst
    }
}
