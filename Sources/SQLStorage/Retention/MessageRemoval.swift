import PushModel
import Store

/// Removes messages that ended before a time, the oldest first, with all that refers to them, within one transaction.
///
/// A message with more blocks or receipts than the budget goes in several steps and is noted meanwhile: its report stays
/// whole until the last one.
struct MessageRemoval {
    let db: any Database
    let project: String
    let endedBefore: Timestamp
    /// Rows that may still go.
    var budget: Int

    /// The blocks that messages to one registration share, with those of them that go.
    private var shared: [Int64: Set<Int64>] = [:]
    /// The newest day that is noted as removed from in this transaction.
    private var notedDay: Int64 = -1

    /// - Parameter budget: rows that may go.
    init(db: any Database, project: String, endedBefore: Timestamp, budget: Int) {
        (self.db, self.project, self.endedBefore, self.budget) = (db, project, endedBefore, budget)
    }

    static let blocks = """
        SELECT id, recorded_at FROM ledger_block INDEXED BY ledger_block_by_message
        WHERE message = ? ORDER BY id LIMIT ?
        """
    static let acceptedAt = "SELECT accepted_at, block FROM message WHERE seq = ?"
    static let ofSingle = "SELECT accepted_at, block FROM ended_single WHERE seq = ?"
    static let recordedAt = "SELECT recorded_at FROM ledger_block WHERE id = ?"
    static let walk = """
        SELECT seq, completed_at, accepted_at FROM every_message
        WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3
        """
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
        MessagePlatformTable.remove,
        "DELETE FROM set_aside WHERE message = ?",
        "DELETE FROM fan_out WHERE message = ?",
        "DELETE FROM late_payload WHERE message = ?",
        "DELETE FROM message WHERE seq = ?",
    ]
    /// The same of a message to one registration whose payload is removed: nearly all.
    static let restOfSingle = [
        "DELETE FROM receipt_tally WHERE message = ?",
        "DELETE FROM message_link WHERE message = ?",
        "DELETE FROM ended_single WHERE seq = ?",
    ]

    mutating func run(after: Int64) throws -> RemovedRows {
        let removed = try walk(after: after)
        for (block, messages) in shared { try LedgerBlockTable(db: db).remove(messages, from: block) }
        shared.removeAll()
        return removed
    }

    private mutating func walk(after: Int64) throws -> RemovedRows {
        var removed = RemovedRows(next: after)
        let table = RetentionTable(db: db, project: project)
        if let begun = try table.removing() {
            guard try remove(begun) else { return removed }
            try table.setRemoving(nil)
            removed.count += 1
        }
        let limit = max(1, budget)
        let rows = try db.rows(Self.walk, [project, after, limit]).prefix { $0[2] < endedBefore.milliseconds }
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
        let single = try db.row(Self.ofSingle, [message])
        guard let row = try single ?? db.row(Self.acceptedAt, [message]) else { return true }
        try note(day: DeliveryDay.day(of: Timestamp(milliseconds: row[0])))
        if let block: Int64 = row[1] { try removeEntry(of: message, from: block) }
        guard try single != nil || removeBlocks(of: message) else { return false }
        let limit = max(1, budget)
        let receipts = try db.change(Self.receipts, [message, limit])
        budget -= receipts
        guard receipts < limit else { return false }
        for statement in single == nil ? Self.rest : Self.restOfSingle {
            budget -= try db.change(statement, [message])
        }
        return true
    }

    /// Messages come in the order of accept: one note serves thousands of them.
    private mutating func note(day: Int64) throws {
        guard day > notedDay else { return }
        try RetentionTable(db: db, project: project).note(day: day)
        notedDay = day
    }

    private mutating func removeEntry(of message: Int64, from block: Int64) throws {
        if shared[block] == nil, let recordedAt = try db.number(Self.recordedAt, [block]) {
            try RetentionTable(db: db, project: project).note(block: block, recordedAt: recordedAt)
        }
        shared[block, default: []].insert(message)
    }

    private mutating func removeBlocks(of message: Int64) throws -> Bool {
        let limit = max(1, budget)
        let blocks = try db.rows(Self.blocks, [message, limit])
        for block in blocks { try db.change("DELETE FROM ledger_block WHERE id = ?", [block[0] as Int64]) }
        if let last = blocks.last {
            try RetentionTable(db: db, project: project).note(block: last[0], recordedAt: last[1])
        }
        budget -= blocks.count
        return blocks.count < limit
    }
}
