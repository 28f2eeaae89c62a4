import PushModel
import Store

/// The ledger entries of messages to one registration each that end in one transaction: packed together, by project.
struct SingleEntries {
    /// The most entries of a block: who asks for one of them reads it whole.
    static let blockLimit = 500

    private struct Item {
        let message: Int64
        var entry: LedgerBlock.Entry
    }

    private struct Group {
        let project: ProjectID
        let isAccepted: Bool
        var items: [Item] = []
        var reasons: [String] = []
        var ids: [String] = []

        /// The messages of a step have a handful of reasons.
        mutating func append(_ entry: LedgerBlock.Entry, _ reason: String?, _ id: String?, of message: Int64) {
            var entry = entry
            if let id {
                entry.upstreamID = Int32(ids.count)
                ids.append(id)
            }
            if let reason {
                let place = reasons.firstIndex(of: reason) ?? reasons.count
                if place == reasons.count { reasons.append(reason) }
                entry.reason = Int32(place)
            }
            items.append(Item(message: message, entry: entry))
        }
    }

    /// What sums by day tell deliveries apart by.
    private struct DayKey: Hashable {
        let project: ProjectID
        let app: AppKey
        let kind: DeliveryDaySums.Kind
    }

    private var groups: [Group] = []
    private var lastDay: (key: DayKey, counts: OutcomeCounts)?
    private var days: [DayKey: OutcomeCounts] = [:]
    private var unnamed: [(key: Int64, outcome: LedgerOutcome, project: ProjectID, kind: DeliveryDaySums.Kind)] = []

    /// Takes the end of a message's only delivery.
    ///
    /// - Parameter app: that of the registration; `nil`: it is looked up.
    mutating func append(
        _ entry: LedgerBlock.Entry, reason: String?, id: String?, of source: LedgerWriter.Source, app: AppKey?
    ) {
        let isAccepted = entry.outcome == .accepted
        let place =
            groups.lastIndex { $0.isAccepted == isAccepted && $0.project == source.project } ?? groups.count
        if place == groups.count { groups.append(Group(project: source.project, isAccepted: isAccepted)) }
        groups[place].append(entry, reason, id, of: source.message)
        guard let app else { return unnamed.append((entry.key, entry.outcome, source.project, source.kind)) }
        count(entry.outcome, DayKey(project: source.project, app: app, kind: source.kind))
    }

    /// Nearly all are like the one before.
    private mutating func count(_ outcome: LedgerOutcome, _ key: DayKey) {
        if lastDay?.key != key {
            putBack()
            lastDay = (key, days[key] ?? OutcomeCounts())
        }
        lastDay?.counts.add(outcome)
    }

    private mutating func putBack() {
        if let last = lastDay { days[last.key] = last.counts }
    }

    /// Writes the blocks, and says which one each message is in.
    ///
    /// - Parameter written: is told of each block.
    mutating func writeBlocks(
        to table: LedgerBlockTable, _ recordedAt: Timestamp, _ blocks: inout [Int64: Int64],
        written: (_ id: Int64, _ rows: Int, _ project: ProjectID) -> Void
    ) throws {
        for group in groups {
            let items = group.items.sorted { $0.message < $1.message }
            for start in stride(from: 0, to: items.count, by: Self.blockLimit) {
                let part = items[start..<min(start + Self.blockLimit, items.count)]
                let block = LedgerBlock(
                    entries: part.map(\.entry), reasons: group.reasons, ids: group.ids, messages: part.map(\.message))
                let id = try table.insert(block, group.project, recordedAt)
                for item in part { blocks[item.message] = id }
                written(id, part.count, group.project)
            }
        }
        groups.removeAll()
    }

    /// Adds to the sums by day.
    mutating func addDays(
        to sums: inout DeliveryDaySums, _ keys: inout KeyApps, app id: (ProjectID, AppKey) throws -> Int64
    ) throws {
        putBack()
        for (key, counts) in days {
            let app = try id(key.project, key.app)
            for outcome in LedgerOutcome.allCases { sums.add(counts[outcome], app: app, key.kind, outcome) }
        }
        for item in unnamed {
            guard let app = try keys.app(of: item.key, in: item.project.rawValue) else { continue }
            sums.add(1, app: app, item.kind, item.outcome)
        }
        (days, lastDay, unnamed) = ([:], nil, [])
    }
}
