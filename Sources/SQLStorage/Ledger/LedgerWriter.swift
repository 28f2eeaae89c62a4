import PushModel
import Store

/// The ledger entries of one transaction: gathered one by one, written as a block for each message, with the sums that
/// reports show and the bounds that exports begin at.
///
/// A delivery ends once; the caller sees to it. Within one transaction a delivery that ends twice is refused.
struct LedgerWriter {
    /// The most entries of a block: it is read whole, and what reads it shows it in pages of about this size.
    static let blockLimit = 2000

    /// The message of an entry.
    struct Source {
        let message: Int64
        let project: ProjectID
        let kind: DeliveryDaySums.Kind
        /// Whether it went to one registration: then its entry shares a block with others, and no sums are kept of it.
        var isSingle = false
    }

    /// A row of `tally` without its message; the reason by its place in the group.
    private struct Tally {
        let outcome: LedgerOutcome
        let reason: Int32
        let platform: Platform
        var count = 1
    }

    /// What ends of one message in this step.
    private struct Group {
        let message: Int64
        let project: ProjectID
        /// `nil`: the entries are counted already.
        let kind: DeliveryDaySums.Kind?
        /// How many ended how, by app.
        var apps: [(key: AppKey, counts: OutcomeCounts)] = []
        /// The entries whose app was not told.
        var unnamed: [(key: Int64, outcome: LedgerOutcome, reason: Int32)] = []
        /// How many ended how and why, by platform.
        var tallies: [Tally] = []
        var accepted: [LedgerBlock.Entry] = []
        var others: [LedgerBlock.Entry] = []
        var reasons: [String] = []
        var ids: [String] = []

        /// A message has a handful of reasons: looking through them is faster than hashing.
        mutating func place(of reason: String?) -> Int32 {
            guard let reason else { return LedgerBlock.Entry.noReason }
            if let known = reasons.firstIndex(of: reason) { return Int32(known) }
            reasons.append(reason)
            return Int32(reasons.count - 1)
        }

        /// A message has a handful of these too.
        mutating func tally(_ outcome: LedgerOutcome, _ reason: Int32, _ platform: Platform) {
            let place = tallies.firstIndex {
                $0.outcome == outcome && $0.reason == reason && $0.platform == platform
            }
            if let place {
                tallies[place].count += 1
            } else {
                tallies.append(Tally(outcome: outcome, reason: reason, platform: platform))
            }
        }

        /// A message has an app or a few, and most entries that of the one before.
        mutating func count(_ outcome: LedgerOutcome, _ reason: Int32, _ key: Int64, _ app: AppKey?) {
            guard let app else { return unnamed.append((key, outcome, reason)) }
            tally(outcome, reason, app.platform)
            let place = apps.lastIndex { $0.key == app } ?? apps.count
            if place == apps.count { apps.append((app, OutcomeCounts())) }
            apps[place].counts.add(outcome)
        }
    }

    private let db: any Database
    private let recordedAt: Timestamp
    private var groups: [Group] = []
    private var places: [Int64: Int] = [:]
    private var lastPlace = 0
    private var singles = SingleEntries()
    /// The block of each message to one registration that ended in this step.
    private(set) var blocks: [Int64: Int64] = [:]

    /// Begins a step.
    ///
    /// - Parameter recordedAt: the time of recording, not before that of any block in the store (``LedgerClock``).
    init(db: any Database, recordedAt: Timestamp) {
        self.db = db
        self.recordedAt = recordedAt
    }

    /// Takes the end of a delivery; nothing is written before ``write()``.
    ///
    /// - Parameter app: that of the registration; `nil`: it is looked up.
    mutating func append(_ entry: LedgerEntry, of source: Source, key: RegistrationKey, app: AppKey?) {
        let packed = LedgerBlock.Entry(
            key: key.rawValue, endedAt: entry.time.milliseconds, latencyMilliseconds: entry.latencyMilliseconds,
            attempts: UInt32(clamping: entry.history.attempts),
            unknownAttempts: UInt32(clamping: entry.history.unknownAttempts),
            reason: LedgerBlock.Entry.noReason, outcome: entry.outcome)
        guard !source.isSingle else {
            return singles.append(packed, reason: entry.reason, id: entry.upstreamID, of: source, app: app)
        }
        let reason = append(
            packed, reason: entry.reason, id: entry.upstreamID,
            place: place(of: source.message, source.project, source.kind))
        groups[lastPlace].count(entry.outcome, reason, key.rawValue, app)
    }

    /// Takes an entry, with its reason beside it, that the sums have already.
    mutating func append(counted entry: LedgerBlock.Entry, reason: String?, message: Int64, project: ProjectID) {
        _ = append(entry, reason: reason, id: nil, place: place(of: message, project, nil))
    }

    /// - Returns: the place of the reason in the group.
    private mutating func append(_ entry: LedgerBlock.Entry, reason: String?, id: String?, place: Int) -> Int32 {
        var entry = entry
        entry.reason = groups[place].place(of: reason)
        if let id {
            entry.upstreamID = Int32(groups[place].ids.count)
            groups[place].ids.append(id)
        }
        if entry.outcome == .accepted {
            groups[place].accepted.append(entry)
        } else {
            groups[place].others.append(entry)
        }
        return entry.reason
    }

    private mutating func place(of message: Int64, _ project: ProjectID, _ kind: DeliveryDaySums.Kind?) -> Int {
        if lastPlace < groups.count, groups[lastPlace].message == message { return lastPlace }
        if let known = places[message] {
            lastPlace = known
        } else {
            lastPlace = groups.count
            places[message] = lastPlace
            groups.append(Group(message: message, project: project, kind: kind))
        }
        return lastPlace
    }

    /// Writes what was taken, and begins anew.
    ///
    /// - Parameters:
    ///   - events: takes the blocks that were written.
    ///   - block: gives a number for a block, see ``LedgerBlockTable/number``.
    ///   - app: gives the number of an app of a project.
    /// - Throws: the database's error, or ``LedgerBlock/encode(_:reasons:)``'s; the transaction must not be committed then.
    mutating func write(
        _ events: inout SettledEvents, block: @escaping () throws -> Int64? = { nil },
        app: (ProjectID, AppKey) throws -> Int64
    ) throws {
        var hours: [ProjectID: ClosedRange<Int64>] = [:]
        var sums = MessageSums(db: db)
        var keys = KeyApps(db: db)
        let table = LedgerBlockTable(db: db, number: block)
        for group in groups {
            for var entries in [group.accepted, group.others] where !entries.isEmpty {
                if !Self.isSorted(entries) { entries.sort { $0.key < $1.key } }
                for start in stride(from: 0, to: entries.count, by: Self.blockLimit) {
                    let end = min(start + Self.blockLimit, entries.count)
                    let id = try table.insert(
                        entries[start..<end], group.reasons, group.ids, message: group.message, group.project,
                        recordedAt)
                    events.add(block: id, rows: end - start, of: group.project)
                    hours[group.project] = (hours[group.project]?.lowerBound ?? id)...id
                }
            }
            if group.kind != nil { try addSums(of: group, to: &sums, &keys) }
        }
        try sums.write()
        try singles.writeBlocks(to: table, recordedAt, &blocks) { id, rows, project in
            events.add(block: id, rows: rows, of: project)
            hours[project] = (hours[project]?.lowerBound ?? id)...id
        }
        for (project, blocks) in hours { try table.extend(hour: LedgerHour.hour(of: recordedAt), project, blocks) }
        try writeDays(&keys, app)
        groups.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        lastPlace = 0
    }

    private static func isSorted(_ entries: [LedgerBlock.Entry]) -> Bool {
        for place in entries.indices.dropFirst() where entries[place - 1].key >= entries[place].key { return false }
        return true
    }

    /// Adds to the sums by day: one statement for all deliveries that are alike, whatever their messages.
    private mutating func writeDays(
        _ keys: inout KeyApps, _ number: (ProjectID, AppKey) throws -> Int64
    ) throws {
        var sums = DeliveryDaySums()
        var ids: [ProjectID: [AppKey: Int64]] = [:]
        for group in groups {
            guard let kind = group.kind else { continue }
            for (key, counts) in group.apps {
                let app = try ids[group.project]?[key] ?? number(group.project, key)
                ids[group.project, default: [:]][key] = app
                for outcome in LedgerOutcome.allCases { sums.add(counts[outcome], app: app, kind, outcome) }
            }
            for (key, outcome, _) in group.unnamed {
                guard let app = try keys.app(of: key, in: group.project.rawValue) else { continue }
                sums.add(1, app: app, kind, outcome)
            }
        }
        try singles.addDays(to: &sums, &keys, app: number)
        try sums.write(to: db)
    }

    private func addSums(of group: Group, to sums: inout MessageSums, _ keys: inout KeyApps) throws {
        var group = group
        for (key, outcome, reason) in group.unnamed {
            group.tally(outcome, reason, try keys.platform(of: key, in: group.project.rawValue))
        }
        for tally in group.tallies {
            let reason = tally.reason == LedgerBlock.Entry.noReason ? "" : group.reasons[Int(tally.reason)]
            try sums.add(tally.count, tally.outcome, reason, tally.platform, of: group.message)
        }
        try sums.add(latencies: group.accepted, of: group.message)
    }
}
