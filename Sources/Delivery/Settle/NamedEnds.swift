import PushModel
package import Store

/// How many deliveries of a project ended in one way that have something in common which has a name.
package struct NamedEnds: Hashable, Sendable {
    /// What has a name.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The app of the registration.
        case app
        /// The topic of the message.
        case topic
        /// The sender's label of the message.
        case label
    }

    /// The name of those that are not among the most frequent ones.
    package static let other = "other"

    /// What has the name.
    package var kind: Kind
    /// The project; ``other`` with the name.
    package var project: String
    /// The name.
    package var name: String
    /// How the deliveries ended.
    package var outcome: LedgerOutcome
    /// How many.
    package var count: Int
}

/// Counts for the most frequent of many names, and one sum for all others: what grows is bounded whatever senders write.
///
/// A name gets a place of its own when it was counted more often than the one that has a place and was counted least. Its own
/// count begins then, and what it had before stays with the others: so no count ever falls, as Prometheus wants it of
/// a counter, but those of a name that lost its place, which vanish. Of the others some hundred are counted as candidates;
/// when there are more, all their counts are halved, and those that come to nothing are forgotten.
struct FrequentNames: Sendable {
    /// Names that have places of their own.
    static let limit = 50
    /// Names that may get one.
    static let candidateLimit = 500

    /// A name of a project.
    struct Name: Hashable, Sendable {
        let project: ProjectID
        let text: String
    }

    private struct Entry {
        /// By which names are compared: at least as often as it was counted.
        var rank: Int
        /// What it was counted since it has its place.
        var counts = EndCounts()
    }

    private var entries: [Name: Entry] = [:]
    private var candidates: [Name: Int] = [:]
    private(set) var others = EndCounts()

    /// Counts deliveries.
    mutating func add(_ counts: EndCounts, of name: Name) {
        guard counts.sum > 0 else { return }
        if entries[name] == nil, entries.count < Self.limit { entries[name] = Entry(rank: 0) }
        if entries[name] == nil { rise(name, by: counts.sum) }
        guard let entry = entries[name] else {
            others = others + counts
            return
        }
        entries[name] = Entry(rank: entry.rank + counts.sum, counts: entry.counts + counts)
    }

    /// Ranks a name without a place, and gives it the least frequent one's when it is above that.
    private mutating func rise(_ name: Name, by sum: Int) {
        while candidates[name] == nil, candidates.count >= Self.candidateLimit {
            candidates = candidates.compactMapValues { $0 > 1 ? $0 / 2 : nil }
        }
        let risen = candidates[name, default: 0] + sum
        guard let last = entries.min(by: { $0.value.rank < $1.value.rank }), last.value.rank < risen else {
            candidates[name] = risen
            return
        }
        candidates[name] = nil
        entries[last.key] = nil
        candidates[last.key] = last.value.rank
        entries[name] = Entry(rank: risen - sum)
    }

    /// The counts of the names with places, the most frequent first, and those of the others.
    func ends(of kind: NamedEnds.Kind) -> [NamedEnds] {
        let ranked = entries.sorted { ($0.value.rank, $1.key.text) > ($1.value.rank, $0.key.text) }
        let named = ranked.flatMap { name, entry in
            Self.ends(of: kind, name.project.rawValue, name.text, entry.counts)
        }
        return named + Self.ends(of: kind, NamedEnds.other, NamedEnds.other, others)
    }

    private static func ends(
        of kind: NamedEnds.Kind, _ project: String, _ name: String, _ counts: EndCounts
    ) -> [NamedEnds] {
        LedgerOutcome.allCases.compactMap { outcome in
            guard counts[outcome] > 0 else { return nil }
            return NamedEnds(kind: kind, project: project, name: name, outcome: outcome, count: counts[outcome])
        }
    }
}
