import GRDB
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
        ON CONFLICT (app, day, label, is_displayed, outcome) DO UPDATE SET count = count + excluded.count
        """

    /// No sums.
    init() {}

    /// The sums that are kept.
    init(stored db: Database) throws {
        let rows = try Row.fetchCursor(
            db, sql: "SELECT app, day, label, is_displayed, outcome, count FROM delivery_day")
        while let row = try rows.next() {
            let kind = Kind(day: row[1], label: row[2], isDisplayed: row[3])
            counts[Key(app: row[0], kind: kind, outcome: try LedgerOutcome(storedCase: row[4]))] = row[5]
        }
    }

    /// Counts deliveries.
    mutating func add(_ count: Int64, app: Int64, _ kind: Kind, _ outcome: LedgerOutcome) {
        guard count > 0 else { return }
        counts[Key(app: app, kind: kind, outcome: outcome), default: 0] += count
    }

    /// Counts the entries of a block of a message.
    mutating func add(_ block: LedgerBlock, _ kind: Kind, project: String, _ apps: inout KeyApps) throws {
        try apps.read(block, in: project)
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
    func write(to db: Database) throws {
        for (key, count) in counts {
            try db.change(
                Self.add,
                [key.app, key.kind.day, key.kind.label, key.kind.isDisplayed, key.outcome.rawValue, count])
        }
    }

    /// How many sums differ from these recounted ones, of those that did not change while they were recounted.
    ///
    /// - Parameter before: what was kept when the recount began; this is what was kept when it ended.
    func differences(to recounted: DeliveryDaySums, since before: DeliveryDaySums) -> Int {
        Set(counts.keys).union(recounted.counts.keys).count { key in
            counts[key] == before.counts[key] && counts[key] != recounted.counts[key]
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

/// The app of registrations by their keys, also of those that were purged, within one transaction.
struct KeyApps {
    private struct FormerApp: Hashable {
        let project: String
        let name: String
    }

    private let db: Database
    private let looksAtEach: Bool
    private var onlyApps: [String: Int64?] = [:]
    /// The names of apps that had registrations which are gone, of all projects.
    private var formerNames: Set<String>?
    private var formerApps: [FormerApp: Int64] = [:]
    /// The keys of a block that were read together, with what was found of them.
    private var range: ClosedRange<Int64>?
    private var apps: [Int64: Int64] = [:]
    private var formers: [Int64: String] = [:]

    static let ofKey = "SELECT app FROM registration WHERE key = ?"
    static let ofFormer = "SELECT app FROM former_registration WHERE key = ?"
    static let ofRange = "SELECT key, app FROM registration WHERE key BETWEEN ? AND ?"
    static let ofFormerRange = "SELECT key, app FROM former_registration WHERE key BETWEEN ? AND ?"
    /// Fewer entries, or entries farther apart, are looked up one by one.
    private static let (fewest, widestStep) = (16, 8 as Int64)

    /// - Parameter looksAtEach: whether there may be apps that no row of `app` stands for yet, those of registrations that
    ///   are gone. They get one; in transactions that write.
    init(db: Database, looksAtEach: Bool = false) {
        self.db = db
        self.looksAtEach = looksAtEach
    }

    /// The number of the app; `nil`: nothing is known of the registration.
    mutating func app(of key: Int64, in project: String) throws -> Int64? {
        // Most projects have one app: no row needs to be looked at.
        if let only = try onlyApp(of: project) { return only }
        if let range, range.contains(key) {
            if let app = apps[key] { return app }
            return try formers[key].flatMap { try former($0, in: project) }
        }
        if let app = try db.number(Self.ofKey, [key]) { return app }
        guard let row = try db.row(Self.ofFormer, [key]) else { return nil }
        return try former(row[0], in: project)
    }

    /// Reads the apps of a block's keys together, where they lie close to each other.
    mutating func read(_ block: LedgerBlock, in project: String) throws {
        range = nil
        guard block.entries.count >= Self.fewest, let first = block.entries.first?.key,
            let last = block.entries.last?.key, first <= last,
            (last - first) / Self.widestStep < Int64(block.entries.count), try onlyApp(of: project) == nil
        else { return }
        apps.removeAll(keepingCapacity: true)
        formers.removeAll(keepingCapacity: true)
        let rows = try Row.fetchCursor(db.cachedStatement(sql: Self.ofRange), arguments: [first, last])
        while let row = try rows.next() { apps[row[0]] = row[1] }
        let formerRows = try Row.fetchCursor(db.cachedStatement(sql: Self.ofFormerRange), arguments: [first, last])
        while let row = try formerRows.next() { formers[row[0]] = row[1] }
        range = first...last
    }

    private mutating func former(_ name: String, in project: String) throws -> Int64? {
        let former = FormerApp(project: project, name: name)
        if let known = formerApps[former] { return known }
        let (id, app) = (try ProjectID(stored: project), try AppID(stored: name))
        let table = AppTable(db: db)
        let number = looksAtEach ? try table.id(id, app) : try table.find(id, app)
        formerApps[former] = number
        return number
    }

    private mutating func onlyApp(of project: String) throws -> Int64? {
        if let known = onlyApps[project] { return known }
        let apps = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT id, name FROM app WHERE project = ? LIMIT 2"), arguments: [project])
        var only: Int64?
        if apps.count == 1, try !looksAtEach || namesOfFormer().isSubset(of: [apps[0][1]]) { only = apps[0][0] }
        onlyApps[project] = .some(only)
        return only
    }

    private mutating func namesOfFormer() throws -> Set<String> {
        if let formerNames { return formerNames }
        let names = try String.fetchSet(db, sql: "SELECT DISTINCT app FROM former_registration")
        formerNames = names
        return names
    }
}
