import GRDB
import PushModel
import Store

// Version 9: what became of the messages of each day, by app and label. A version never changes after its release.

extension Schema {
    /// Makes the sums by day, from the whole ledger.
    static func migrateDeliveryData(_ db: Database) throws {
        try db.execute(sql: deliveryDays)
        var sums = DeliveryDaySums()
        let hasFormer = try db.number("SELECT 1 FROM former_registration LIMIT 1") != nil
        var apps = KeyApps(db: db, looksAtEach: hasFormer)
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT b.id, b.entries, m.project, m.accepted_at, m.label, m.is_displayed
                FROM ledger_block b JOIN message m ON m.seq = b.message ORDER BY b.id
                """)
        while let row = try rows.next() {
            let block: LedgerBlock
            do throws(PackedReader.Damage) {
                block = try LedgerBlock(decoding: row[1])
            } catch {
                throw StoreError.invalid("ledger block \(row[0] as Int64)")
            }
            let kind = DeliveryDaySums.Kind(acceptedAt: row[3], label: row[4], isDisplayed: row[5])
            try sums.add(block, kind, project: row[2], &apps)
        }
        try sums.write(to: db)
        try db.execute(
            sql: "INSERT INTO received_day (app, day, label, count) \(ReceiptTable.days) GROUP BY 1, 2, 3")
    }

    /// Ended deliveries to the registrations of an app, by the day (UTC, since 1970) when their messages were accepted.
    /// `label` is empty for messages without one; `is_displayed` as in `message`. Written with each settlement, a row
    /// for all of its deliveries that are alike. `received_day`: the receipts of the kind received, by the same; written
    /// with each of them.
    private static let deliveryDays = """
        CREATE TABLE delivery_day (
            app INTEGER NOT NULL REFERENCES app (id),
            day INTEGER NOT NULL,
            label TEXT NOT NULL,
            is_displayed INTEGER NOT NULL CHECK (is_displayed IN (0, 1)),
            outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected', 'expired', 'cancelled')),
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (app, day, label, is_displayed, outcome)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE received_day (
            app INTEGER NOT NULL REFERENCES app (id),
            day INTEGER NOT NULL,
            label TEXT NOT NULL,
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (app, day, label)
        ) STRICT, WITHOUT ROWID;
        """
}
