import GRDB
import PushModel
import Store

/// Removes messages that ended before a time, the oldest first, with all that refers to them, within one transaction.
///
/// A message with more blocks or receipts than the budget goes in several steps and is noted meanwhile: its report stays
/// whole until the last one.
struct MessageRemoval {
    let db: Database
    let project: String
    let endedBefore: Timestamp
    /// Rows that may still go.
    var budget: Int

    static let blocks = """
        SELECT id, recorded_at FROM ledger_block INDEXED BY ledger_block_by_message
        WHERE message = ? ORDER BY id LIMIT ?
        """
    static let acceptedAt = "SELECT accepted_at FROM message WHERE seq = ?"
    static let receipts = """
        DELETE FROM receipt WHERE id IN (SELECT id FROM receipt INDEXED BY receipt_of WHERE message = ? LIMIT ?)
        """
    /// What has a few rows for a message, and at last itself.
    static let rest = [
        "DELETE FROM receipt_tally WHERE message = ?",
        "DELETE FROM tally WHERE message = ?",
        "DELETE FROM latency WHERE message = ?",
        "DELETE FROM message_link WHERE message = ?",
        "DELETE FROM message_list WHERE message = ?",
        "DELETE FROM set_aside WHERE message = ?",
        "DELETE FROM fan_out WHERE message = ?",
        "DELETE FROM late_payload WHERE message = ?",
        "DELETE FROM message WHERE seq = ?",
    ]

    mutating func run(after: Int64) throws -> RemovedRows {
        var removed = RemovedRows(next: after)
        let table = RetentionTable(db: db, project: project)
        if let begun = try table.removing() {
            guard try remove(begun) else { return removed }
            try table.setRemoving(nil)
            removed.count += 1
        }
        let limit = max(1, budget)
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: PayloadRemoval.walk), arguments: [project, after, limit]
        ).prefix { $0[2] < endedBefore.milliseconds }
        for row in rows {
            guard budget > 0 else { return removed }
            let message: Int64 = row[0]
            // One that has not ended, or ended late, is looked at in the next pass.
            if let end: Int64 = row[1], end < endedBefore.milliseconds {
                guard try remove(message) else {
                    try table.setRemoving(message)
                    return removed
                }
                removed.count += 1
            }
            removed.next = message
        }
        if rows.count < limit { removed.next = nil }
        return removed
    }

    /// Removes a message, or as much of it as the budget allows.
    ///
    /// - Returns: whether nothing of it is left.
    private mutating func remove(_ message: Int64) throws -> Bool {
        guard let acceptedAt = try db.number(Self.acceptedAt, [message]) else { return true }
        try RetentionTable(db: db, project: project).note(
            day: DeliveryDay.day(of: Timestamp(milliseconds: acceptedAt)))
        guard try removeBlocks(of: message) else { return false }
        let limit = max(1, budget)
        let receipts = try db.change(Self.receipts, [message, limit])
        budget -= receipts
        guard receipts < limit else { return false }
        for statement in Self.rest { budget -= try db.change(statement, [message]) }
        return true
    }

    private mutating func removeBlocks(of message: Int64) throws -> Bool {
        let limit = max(1, budget)
        let blocks = try Row.fetchAll(db.cachedStatement(sql: Self.blocks), arguments: [message, limit])
        for block in blocks { try db.change("DELETE FROM ledger_block WHERE id = ?", [block[0] as Int64]) }
        if let last = blocks.last {
            try RetentionTable(db: db, project: project).note(block: last[0], recordedAt: last[1])
        }
        budget -= blocks.count
        return blocks.count < limit
    }
}
