import PushModel
import Store

/// Takes the label of an erased message out of the sums by day, within one transaction: a label may have a person's name.
/// What was counted with it counts with the messages that have none.
struct LabelErasure {
    private let db: any Database
    private let message: Int64
    private let project: String
    private let kind: DeliveryDaySums.Kind
    private let isSingle: Bool

    static let labelled = """
        SELECT project, accepted_at, label, is_displayed, registration IS NOT NULL FROM every_message
        WHERE seq = ? AND label IS NOT NULL
        """

    /// - Returns: `nil`: the message has no label.
    init?(db: any Database, message: Int64) throws {
        guard let row = try db.row(Self.labelled, [message]) else { return nil }
        (self.db, self.message, project, isSingle) = (db, message, row[0], row[4])
        kind = DeliveryDaySums.Kind(acceptedAt: row[1], label: row[2], isDisplayed: row[3])
    }

    func run() throws {
        var sums = DeliveryDaySums()
        var apps = KeyApps(db: db)
        try eachBlock { try sums.add($0, kind, project: project, &apps) }
        var unlabelled = DeliveryDaySums()
        for (key, count) in sums.counts {
            let isKept = try db.take(
                count, from: "delivery_day",
                [
                    "app": key.app, "day": kind.day, "label": kind.label, "is_displayed": kind.isDisplayed,
                    "outcome": key.outcome.rawValue,
                ])
            guard isKept else { continue }
            unlabelled.add(count, app: key.app, kind.unlabelled, key.outcome)
        }
        try unlabelled.write(to: db)
        try moveReceipts()
    }

    /// - Throws: `.failed` when a block is damaged: what it counted is not known.
    private func eachBlock(_ body: (LedgerBlock) throws -> Void) throws {
        guard !isSingle else {
            if let block = try MessageTable(db: db).entry(of: message) { try body(block) }
            return
        }
        for row in try db.rows(LedgerRecount.blocks, [message]) {
            // Any damage is told as one error.
            guard let block = try? LedgerBlock(decoding: row[6]) else {
                throw StoreError.invalid("ledger block \(row[0] as Int64)")
            }
            try body(block)
        }
    }

    private func moveReceipts() throws {
        let rows = try db.rows(ReceiptTable.days(where: " AND e.message = ?"), [message])
        for row in rows {
            let (app, count): (Int64, Int64) = (row[0], row[3])
            let isKept = try db.take(
                count, from: "received_day", ["app": app, "day": kind.day, "label": kind.label])
            guard isKept else { continue }
            try db.change(Self.addReceipts, [app, kind.day, count])
        }
    }

    private static let addReceipts = """
        INSERT INTO received_day (app, day, label, count) VALUES (?, ?, '', ?)
        ON CONFLICT (app, day, label) DO UPDATE SET count = received_day.count + excluded.count
        """
}

extension Database {
    /// Takes some off a count; a row that counts nothing else goes.
    ///
    /// - Parameter key: the columns of the table's key with their values.
    /// - Returns: whether there is such a count: retention removes those of old days.
    @discardableResult
    func take(
        _ count: Int64, from table: String, _ key: KeyValuePairs<String, any SQLBindable>
    ) throws -> Bool {
        let condition = key.enumerated().map { "\($1.key) = ?\($0 + 2)" }.joined(separator: " AND ")
        let values: SQLArguments = [count] + key.map { $0.value as (any SQLBindable)? }
        let isLess = try change(
            "UPDATE \(table) SET count = count - ?1 WHERE \(condition) AND count > ?1", values)
        if isLess > 0 { return true }
        return try change("DELETE FROM \(table) WHERE \(condition) AND count <= ?1", values) > 0
    }
}
