import PushModel
import Store

/// Sums of ended deliveries by day, app and label: `delivery_day`, as it is or as it should be.
struct DeliveryDaySums: Equatable, Sendable {
    /// What the sums tell messages apart by.
    struct Kind: Hashable, Sendable {
        /// Days since 1970 in UTC.
        let day: Int64
        /// Empty: none.
        let label: String
        let isDisplayed: Bool

        /// The kind of a message, from the columns of its row.
        init(acceptedAt milliseconds: Int64, label: String?, isDisplayed: Bool) {
            day = DeliveryDay.day(of: Timestamp(milliseconds: milliseconds))
            self.label = label ?? ""
            self.isDisplayed = isDisplayed
        }

        /// The same without a label.
        var unlabelled: Kind { Kind(day: day, label: "", isDisplayed: isDisplayed) }

        fileprivate init(day: Int64, label: String, isDisplayed: Bool) {
            self.day = day
            self.label = label
            self.isDisplayed = isDisplayed
        }
    }

    /// One row without its count.
    struct Key: Hashable, Sendable {
        let app: Int64
        let kind: Kind
        let outcome: LedgerOutcome
    }

    private(set) var counts: [Key: Int64] = [:]

    static let add = """
        INSERT INTO delivery_day (app, day, label, is_displayed, outcome, count) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (app, day, label, is_displayed, outcome) DO UPDATE SET count = delivery_day.count + excluded.count
        """

    /// No sums.
    init() {}

    /// The sums that are kept.
    init(stored db: any Database) throws {
        let rows = try db.cursor("SELECT app, day, label, is_displayed, outcome, count FROM delivery_day")
        while let row = try rows.next() {
            let kind = Kind(day: row[1], label: row[2], isDisplayed: row[3])
            counts[Key(app: row[0], kind: kind, outcome: try LedgerOutcome(storedCase: row[4]))] = row[5]
        }
    }

    /// By app the day up to which messages or sums were removed.
    static func removedDays(_ db: any Database) throws -> [Int64: Int64] {
        let rows = try db.rows("SELECT a.id, r.days_after FROM app a CROSS JOIN retention r ON r.project = a.project")
        return Dictionary(rows.map { ($0[0], $0[1]) }, uniquingKeysWith: { _, last in last })
    }

    /// Counts deliveries.
    mutating func add(_ count: Int64, app: Int64, _ kind: Kind, _ outcome: LedgerOutcome) {
        guard count > 0 else { return }
        counts[Key(app: app, kind: kind, outcome: outcome), default: 0] += count
    }

    /// Counts the entries of a block of a message, whose apps were read (``KeyApps/read(_:in:)``).
    mutating func add(_ block: LedgerBlock, _ kind: Kind, project: String, _ apps: inout KeyApps) throws {
        var found: [Int64: OutcomeCounts] = [:]
        for entry in block.entries {
            guard let app = try apps.app(of: entry.key, in: project) else { continue }
            found[app, default: OutcomeCounts()].add(entry.outcome)
        }
        for (app, outcomes) in found {
            for outcome in LedgerOutcome.allCases { add(outcomes[outcome], app: app, kind, outcome) }
        }
    }

    /// Adds other sums.
    mutating func add(_ other: DeliveryDaySums) {
        counts.merge(other.counts) { $0 + $1 }
    }

    /// Adds the sums to those that are kept.
    func write(to db: any Database) throws {
        let rows = RowBatch()
        for (key, count) in counts {
            rows.bind(key.app)
            rows.bind(key.kind.day)
            rows.bind(key.kind.label)
            rows.bind(key.kind.isDisplayed)
            rows.bind(key.outcome.rawValue)
            rows.bind(count)
            rows.endRow()
            if rows.count == RowBatch.limit { try rows.post(Self.add, to: db) }
        }
        try rows.post(Self.add, to: db)
    }

    /// How many sums differ from these recounted ones, of those that did not change while they were recounted.
    ///
    /// - Parameters:
    ///   - before: what was kept when the recount began; this is what was kept when it ended.
    ///   - ends: by app the day up to which messages or sums were removed: they have nothing to be compared with.
    func differences(
        to recounted: DeliveryDaySums, since before: DeliveryDaySums, after ends: [Int64: Int64]
    ) -> Int {
        Set(counts.keys).union(recounted.counts.keys).count { key in
            key.kind.day > ends[key.app] ?? .min && counts[key] == before.counts[key]
                && counts[key] != recounted.counts[key]
        }
    }
}

/// A count for each outcome.
struct OutcomeCounts: Equatable {
    private var counts: [Int64] = Array(repeating: 0, count: LedgerOutcome.allCases.count)

    subscript(outcome: LedgerOutcome) -> Int64 { counts[Self.index(outcome)] }

    mutating func add(_ outcome: LedgerOutcome) { counts[Self.index(outcome)] += 1 }

    private static func index(_ outcome: LedgerOutcome) -> Int {
        LedgerBlock.bit(of: outcome).trailingZeroBitCount
    }
}
