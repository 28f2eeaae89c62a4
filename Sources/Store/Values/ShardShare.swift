/// Which shards a node claims from before all others: each shard is one node's, by its number, so that nodes seldom read the
/// same page at once. It is a rule of who comes first and no lock: the one that moves the cursor of a shard owns the page.
package struct ShardShare: Hashable, Sendable {
    /// Every shard: there is no other node.
    package static let all = ShardShare(of: 1, at: 0)

    /// How many nodes share the shards; 1 at least.
    package let count: Int
    /// The place of this one among them, from 0.
    package let place: Int

    /// Of `count` nodes the one at `place`; both are brought into their range.
    package init(of count: Int, at place: Int) {
        self.count = max(1, count)
        self.place = min(max(0, place), self.count - 1)
    }
}
