import PushModel
package import Store

/// How often deliveries of a project ended in one way, of those that did not end as accepted.
package struct ReasonCount: Hashable, Sendable {
    /// The outcome.
    package var outcome: LedgerOutcome
    /// The reason as the metric label has it: from a small set.
    package var reason: String
    /// How many.
    package var count: Int

    /// Puts it together.
    package init(outcome: LedgerOutcome, reason: String, count: Int) {
        self.outcome = outcome
        self.reason = reason
        self.count = count
    }
}

/// Why deliveries ended that were not accepted, counted by minute for an hour, in memory alone. A value without a clock:
/// minutes are those of the ends.
///
/// Its size is bounded: 60 minutes, the configured projects, three outcomes and the reasons of the metric labels.
struct RecentReasons {
    /// How far back it looks.
    static let minutes = 60

    private struct Key: Hashable {
        let project: ProjectID
        let outcome: LedgerOutcome
        let reason: String
    }

    /// The counts of one minute since 1970.
    private struct Slot {
        var minute: Int64
        var counts: [Key: Int] = [:]
    }

    /// A minute has the place that its number leaves over 60.
    private var slots = Array(repeating: Slot(minute: .min), count: minutes)

    /// Counts an end. One that is older than what stands in its place, by an hour or more, is not counted.
    mutating func count(
        _ project: ProjectID, _ outcome: LedgerOutcome, _ reason: String, at time: Timestamp, times: Int = 1
    ) {
        let minute = Self.minute(of: time)
        let place = Self.place(of: minute)
        if slots[place].minute < minute { slots[place] = Slot(minute: minute) }
        guard slots[place].minute == minute else { return }
        slots[place].counts[Key(project: project, outcome: outcome, reason: reason), default: 0] += times
    }

    /// The counts of the 60 minutes that end with the one of `now`, the most frequent first.
    func counts(of project: ProjectID, at now: Timestamp) -> [ReasonCount] {
        let last = Self.minute(of: now)
        var sums: [Key: Int] = [:]
        for slot in slots where slot.minute > last - Int64(Self.minutes) && slot.minute <= last {
            for (key, count) in slot.counts where key.project == project { sums[key, default: 0] += count }
        }
        return sums.map { ReasonCount(outcome: $0.outcome, reason: $0.reason, count: $1) }
            .sorted { ($1.count, $0.reason, $0.outcome.rawValue) < ($0.count, $1.reason, $1.outcome.rawValue) }
    }

    private static func minute(of time: Timestamp) -> Int64 { time.seconds / 60 }

    private static func place(of minute: Int64) -> Int {
        let rest = Int(minute % Int64(minutes))
        return rest < 0 ? rest + minutes : rest
    }
}
