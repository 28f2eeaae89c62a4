/// What a node is among the others that live.
package struct NodeStanding: Hashable, Sendable {
    /// How many nodes live, this one among them; 1 at least.
    package var count: Int
    /// How many of them have a lower number; less than ``count``. One that is leaving comes last.
    package var place: Int
    /// Whether it has the lowest number of them: it does what only one node is to do.
    package var isFirst: Bool

    /// Describes a standing.
    package init(count: Int, place: Int, isFirst: Bool) {
        self.count = max(1, count)
        self.place = min(max(0, place), self.count - 1)
        self.isFirst = isFirst
    }
}
