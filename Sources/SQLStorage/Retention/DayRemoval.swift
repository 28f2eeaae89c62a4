import PushModel
import Store

/// Removes sums of days that are older than the ledger may be, and hours of the ledger that have no block left, within one
/// transaction.
struct DayRemoval {
    let db: any Database
    let project: String
    let before: Timestamp
    let limit: Int

    static let hours = """
        DELETE FROM ledger_hour WHERE project = ?1 AND hour IN (
            SELECT h.hour FROM ledger_hour h WHERE h.project = ?1 AND h.hour < ?2 AND NOT EXISTS (
                SELECT 1 FROM ledger_block b INDEXED BY ledger_block_by_project
                WHERE b.project = ?1 AND b.id BETWEEN h.first_id AND h.last_id)
            ORDER BY h.hour LIMIT ?3)
        """
    static let deliveries = """
        DELETE FROM delivery_day WHERE app = ?1 AND (app, day, label, is_displayed, outcome) IN (
            SELECT app, day, label, is_displayed, outcome FROM delivery_day WHERE app = ?1 AND day < ?2
            ORDER BY day LIMIT ?3)
        """
    static let received = """
        DELETE FROM received_day WHERE app = ?1 AND (app, day, label) IN (
            SELECT app, day, label FROM received_day WHERE app = ?1 AND day < ?2 ORDER BY day LIMIT ?3)
        """
    static let apps = "SELECT id FROM app WHERE project = ?"

    func run() throws -> RemovedRows {
        var removed = RemovedRows()
        var isFull = try db.change(Self.hours, [project, LedgerHour.hour(of: before), limit]) == limit
        let day = DeliveryDay.day(of: before)
        for app in try db.numbers(Self.apps, [project]) {
            for statement in [Self.deliveries, Self.received] {
                let count = try db.change(statement, [app, day, limit])
                removed.count += count
                isFull = isFull || count == limit
            }
        }
        if removed.count > 0 { try RetentionTable(db: db, project: project).note(day: day - 1) }
        if isFull { removed.next = 0 }
        return removed
    }
}

/// Removes receipts that were recorded before a time, within one transaction. The sums of reports stay.
struct ReceiptRemoval {
    let db: any Database
    let project: String
    let recordedBefore: Timestamp
    let limit: Int

    static let remove = """
        DELETE FROM receipt WHERE id IN (
            SELECT id FROM receipt INDEXED BY receipt_by_project
            WHERE project = ? AND recorded_at < ? ORDER BY recorded_at LIMIT ?)
        """

    func run() throws -> RemovedRows {
        let count = try db.change(Self.remove, [project, recordedBefore.milliseconds, limit])
        if count > 0 { try RetentionTable(db: db, project: project).note(receiptsBefore: recordedBefore) }
        return RemovedRows(count: count, next: count == limit ? 0 : nil)
    }
}

/// What is kept of purged registrations.
enum FormerRegistrations {
    /// Those that no message of the project names any more.
    static let remove = """
        DELETE FROM former_registration WHERE key IN (
            SELECT f.key FROM app a CROSS JOIN former_registration f INDEXED BY former_registration_last
            WHERE a.project = ?1 AND f.app = a.id
                AND f.last_message < least(
                    coalesce((SELECT min(seq) FROM message WHERE project = ?1), \(Int64.max)),
                    coalesce((SELECT min(e.seq) FROM ended_single e WHERE e.project = (
                        SELECT id FROM retention WHERE project = ?1)), \(Int64.max)))
            LIMIT ?2)
        """
}
