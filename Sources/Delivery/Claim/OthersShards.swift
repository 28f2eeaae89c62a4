import PushModel
import Store

/// The shards of other nodes that the store offers because this node has none of its own left of a message: nothing is claimed
/// from one that moves. When it stands still, its node may be gone or have no room, and this one goes on with it until it is
/// overtaken. As many are kept as the store offers at once.
struct OthersShards {
    private struct Entry {
        var cursor: Int64
        /// Since when it stands there.
        var since: Timestamp
        /// Whether this node claims from it.
        var isTaken = false
    }

    /// How long a shard stands still before it is claimed from.
    static let patience: Duration = .seconds(1)

    private var entries: [OpenFanOut.ID: Entry] = [:]

    /// Takes over what the store offers.
    ///
    /// - Returns: what may be claimed from, and when another of them could be.
    mutating func offered(
        _ fanOuts: [OpenFanOut], at now: Timestamp
    ) -> (claimable: [OpenFanOut], next: Timestamp?) {
        guard !entries.isEmpty || fanOuts.contains(where: { !$0.isOwn }) else { return (fanOuts, nil) }
        var kept: [OpenFanOut.ID: Entry] = [:]
        var next: Timestamp?
        let claimable = fanOuts.filter { fanOut in
            guard !fanOut.isOwn else { return true }
            var entry = entries[fanOut.id] ?? Entry(cursor: fanOut.cursor, since: now)
            if entry.cursor != fanOut.cursor, !entry.isTaken { entry.since = now }
            entry.cursor = fanOut.cursor
            kept[fanOut.id] = entry
            let isClaimable = entry.isTaken || now - entry.since >= Self.patience
            if !isClaimable { next.bringForward(to: entry.since + Self.patience) }
            return isClaimable
        }
        entries = kept
        return (claimable, next)
    }

    /// This node claims from one: when it moves now, that is no progress of its own node.
    mutating func taken(_ id: OpenFanOut.ID) {
        entries[id]?.isTaken = true
    }

    /// Another node was faster at one.
    ///
    /// - Returns: when to look at it again.
    mutating func overtaken(_ id: OpenFanOut.ID, at now: Timestamp) -> Timestamp {
        entries[id]?.isTaken = false
        entries[id]?.since = now
        return now + Self.patience
    }

    /// The clock went back: no time that was noted counts.
    mutating func forget() {
        entries = [:]
    }
}
