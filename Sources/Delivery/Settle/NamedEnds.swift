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
/// a counter, but those of a name that lost its place, which vanish. Candidates are as many again, by Metwally's
/// Space-Saving: one that is new takes the place, and the rank, of the least frequent.
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
        var counts = [Int](repeating: 0, count: LedgerOutcome.allCases.count)
    }

    private var entries: [Name: Entry] = [:]
    private var candidates: [Name: Int] = [:]
    private(set) var others = [Int](repeating: 0, count: LedgerOutcome.allCases.count)

    /// Counts deliveries by the places of their outcomes in `LedgerOutcome.allCases`.
    mutating func add(_ counts: [Int], of name: Name) {
        let sum = counts.reduce(0, +)
        guard sum > 0 else { return }
        if entries[name] == nil, entries.count < Self.limit { entries[name] = Entry(rank: 0) }
        if entries[name] == nil { rise(name, by: sum) }
        if var entry = entries.removeValue(forKey: name) {
            entry.rank += sum
            for place in counts.indices { entry.counts[place] += counts[place] }
            entries[name] = entry
        } else {
            for place in counts.indices { others[place] += counts[place] }
        }
    }

    /// Ranks a name without a place, and gives it the least frequent one's when it is above that.
    private mutating func rise(_ name: Name, by sum: Int) {
        var rank = candidates[name]
        if rank == nil, candidates.count >= Self.candidateLimit, let least = candidates.min(by: { $0.value < $1.value })
        {
            candidates[least.key] = nil
            rank = least.value
        }
        let risen = (rank ?? 0) + sum
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
        of kind: NamedEnds.Kind, _ project: String, _ name: String, _ counts: [Int]
    ) -> [NamedEnds] {
        zip(LedgerOutcome.allCases, counts).compactMap { outcome, count in
            count > 0 ? NamedEnds(kind: kind, project: project, name: name, outcome: outcome, count: count) : nil
        }
    }
}
