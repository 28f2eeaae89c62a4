import PushModel
import Store

/// Recounts one message from the entries of its ledger blocks and from its open work, within one snapshot.
///
/// Memory does not depend on the size of the message: blocks are read one by one, sums have a handful of rows, and
/// whether a delivery stands twice is found with one bit for each registration key, a range of keys at a time.
struct LedgerRecount {
    let db: any Database
    let message: Int64
    private let id: MessageID
    private let project: String
    private let kind: DeliveryDaySums.Kind
    /// Whether it went to one registration: then no sums are kept.
    private let isSingle: Bool
    private var findings = CheckFindings()
    /// The entries by day; `nil`: not all can be read.
    private(set) var days: DeliveryDaySums? = DeliveryDaySums()

    static let count = "SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM ended_single)"
    /// One whose rows are being removed has no law any more.
    static let messages = """
        SELECT seq, id, project, accepted_at, label, is_displayed, registration IS NOT NULL FROM every_message
        WHERE seq > ? AND seq NOT IN (SELECT removing FROM retention WHERE removing IS NOT NULL) ORDER BY seq LIMIT 1
        """
    static let blocks = """
        SELECT b.id, b.first_key, b.last_key, b.rows, b.outcomes, b.project, b.entries
        FROM ledger_block b INDEXED BY ledger_block_by_message WHERE b.message = ? ORDER BY b.id
        """
    static let firstKey = """
        SELECT min(first_key) FROM (
            SELECT min(first_key) AS first_key FROM ledger_block INDEXED BY ledger_block_by_message WHERE message = ?1
            UNION ALL SELECT min(registration) FROM pending WHERE message = ?1
            UNION ALL SELECT registration FROM message WHERE seq = ?1 AND worker IS NOT NULL) k
        """
    /// The keys of open deliveries that are in no page.
    static let waitingKeys = """
        SELECT registration FROM pending WHERE message = ?1
        UNION ALL SELECT registration FROM message WHERE seq = ?1 AND worker IS NOT NULL
        """
    /// Deliveries claimed so far.
    static let recipients = """
        SELECT m.singles + (SELECT coalesce(sum(claimed), 0) FROM fan_out WHERE message = m.seq)
        FROM every_message m WHERE m.seq = ?
        """

    /// Reads a row of ``messages``.
    init(db: any Database, row: Row) throws {
        self.db = db
        message = row[0]
        id = try MessageID(column: row[1])
        project = row[2]
        kind = DeliveryDaySums.Kind(acceptedAt: row[3], label: row[4], isDisplayed: row[5])
        isSingle = row[6]
    }

    /// Recounts the message and says what is wrong.
    ///
    /// - Parameter span: how many keys are looked at together.
    mutating func run(span: Int64 = KeyMarks.largestSpan) throws -> (findings: CheckFindings, blocks: Int) {
        var sums = LedgerSums()
        var marks = KeyMarks(base: try db.number(Self.firstKey, [message]) ?? 0, span: span)
        var blocks = 0
        var isWhole = true
        var apps = KeyApps(db: db)
        try eachBlock { row, block in
            blocks += 1
            guard let block else {
                isWhole = false
                days = nil
                let place = row.map { "block \($0[0] as Int64) of \(id)" } ?? id.rawValue
                return findings.add("damaged ledger blocks", at: place)
            }
            if let row, !isDescribed(block, by: row) {
                findings.add("ledger blocks that are not as their columns say", at: "block \(row[0] as Int64) of \(id)")
            }
            try apps.read(block, in: project)
            let only = try apps.onlyPlatform(of: project)
            try sums.add(block) { key in
                if let only { return only }
                return try apps.platform(of: key, in: project)
            }
            try days?.add(block, kind, project: project, &apps)
            for entry in block.entries { marks.add(entry.key) }
        }
        let open = try markOpen(&marks)
        try markFurtherRanges(marks)
        // Without a block's entries there is nothing to compare with; its damage is a finding already.
        if isWhole { try compare(isSingle ? LedgerSums() : sums) }
        try checkLaw(open: open.waiting + open.inPages, of: isSingle ? sums : nil)
        return (findings, blocks)
    }

    /// Gives each block with its columns; `nil`: it is damaged. The entry of a message to one registration is looked at as
    /// a block of its own, which has no columns.
    private func eachBlock(_ body: (Row?, LedgerBlock?) throws -> Void) throws {
        guard !isSingle else {
            guard try db.number(MessageTable.block, [message]) != nil else { return }
            // Any damage is one finding.
            return try body(nil, try? MessageTable(db: db).entry(of: message))
        }
        let rows = try db.cursor(Self.blocks, [message])
        while let row = try rows.next() {
            let block: LedgerBlock?
            do throws(PackedReader.Damage) {
                block = try LedgerBlock(decoding: row[6])
            } catch {
                block = nil
            }
            try body(row, block)
        }
    }

    /// Marks what is open, after all that ended.
    ///
    /// - Returns: how many deliveries wait, and how many are in pages.
    @discardableResult
    private mutating func markOpen(_ marks: inout KeyMarks) throws -> (waiting: Int, inPages: Int) {
        let ended = marks.repeated
        findings.add("deliveries that ended twice", count: ended, at: id.rawValue)
        var open = (waiting: 0, inPages: 0)
        let keys = try db.cursor(Self.waitingKeys, [message])
        while let row = try keys.next() {
            open.waiting += 1
            marks.add(row[0])
        }
        let pages = try db.cursor(OpenPage.ofMessage, [message, 0])
        while let row = try pages.next() {
            let page = try OpenPage(row: row)
            if page.open.count != page.openCount {
                findings.add("pages that have another number of open deliveries than they say", at: id.rawValue)
            }
            open.inPages += page.open.count
            for key in page.open { marks.add(key) }
        }
        findings.add(
            "deliveries that are open and ended, or open twice", count: marks.repeated - ended, at: id.rawValue)
        return open
    }

    /// Looks at the keys that were not in the first range.
    private mutating func markFurtherRanges(_ first: KeyMarks) throws {
        for range in first.further.sorted() {
            var marks = KeyMarks(base: first.base, span: first.span, range: range)
            try eachBlock { row, block in
                if let row, !marks.overlaps(row[1], row[2]) { return }
                for entry in block?.entries ?? [] { marks.add(entry.key) }
            }
            try markOpen(&marks)
        }
    }

    private func isDescribed(_ block: LedgerBlock, by row: Row) -> Bool {
        let outcomes = block.entries.reduce(Int64(0)) { $0 | LedgerBlock.bit(of: $1.outcome) }
        return block.entries.first?.key == row[1] && block.entries.last?.key == row[2] && block.entries.count == row[3]
            && outcomes == row[4] && project == row[5]
    }

    private mutating func compare(_ sums: LedgerSums) throws {
        let kept = try LedgerSums(of: message, in: db)
        if kept.ends != sums.ends {
            findings.add("messages whose sums of outcomes are not those of their ledger", at: id.rawValue)
        }
        if kept.latencies != sums.latencies {
            findings.add("messages whose latencies are not those of their accepted deliveries", at: id.rawValue)
        }
    }

    /// - Parameter sums: what ended of a message that no sums are kept of.
    private mutating func checkLaw(open: Int, of sums: LedgerSums?) throws {
        let recipients = try db.number(Self.recipients, [message]) ?? 0
        let ended =
            try sums.map { Int64($0.ends.values.reduce(0, +)) }
            ?? db.number("SELECT coalesce(sum(count), 0) FROM tally WHERE message = ?", [message]) ?? 0
        if recipients != ended + Int64(open) {
            findings.add("messages whose recipients are not the sum of ended and open deliveries", at: id.rawValue)
        }
    }
}

/// A page that is claimed, with the recipients that are not settled.
struct OpenPage {
    let id: Int64
    /// The keys of its recipients with an index that never changes; those of ``open`` are not settled.
    let keys: [Int64]
    let settled: KeyBitmap
    let openCount: Int
    let history: AttemptHistory

    static let ofMessage = """
        SELECT id, open, interruptions, settled, keys FROM page WHERE message = ? AND id >= ? ORDER BY id
        """

    /// Reads a row of ``ofMessage``.
    init(row: Row) throws {
        id = row[0]
        openCount = row[1]
        history = AttemptHistory(interruptions: row[2])
        settled = KeyBitmap(row[3])
        keys = try PackedKeys.keys(row[4])
        guard settled.bytes.count * 8 >= keys.count else { throw StoreError.invalid("page \(id)") }
    }

    /// The keys that are not settled.
    var open: [Int64] { keys.indices.filter { !settled[$0] }.map { keys[$0] } }
}
