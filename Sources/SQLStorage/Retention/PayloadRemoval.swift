import PushModel
import Store

/// Removes what messages said, within one transaction: first of those that had not ended in time when the walk came by,
/// then of those that come next in the order of accept.
///
/// The walk never goes back, so that the messages between the end of payloads and the end of the ledger, nearly all, are
/// not looked at again. Those that it leaves behind were open at one moment, so there are never more than may wait.
struct PayloadRemoval {
    let db: any Database
    let project: String
    let endedBefore: Timestamp
    let limit: Int
    private var endedSingles: EndedSingleTable

    init(db: any Database, project: String, endedBefore: Timestamp, limit: Int) {
        (self.db, self.project, self.endedBefore, self.limit) = (db, project, endedBefore, limit)
        endedSingles = EndedSingleTable(db: db, project: project)
    }

    static let late = """
        SELECT l.message, m.completed_at FROM late_payload l CROSS JOIN message m ON m.seq = l.message
        WHERE l.message > ?2 AND l.project = ?1 ORDER BY l.message LIMIT ?3
        """
    static let walk = """
        SELECT seq, completed_at, accepted_at FROM message INDEXED BY message_by_project
        WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3
        """
    /// All columns of a message but its source.
    static let columns = """
        seq, id, project, registration, topic, condition, expression, user, audience, singles, bytes, apns_id, label, \
        is_displayed, collapse_key, priority, time_to_live, lane, rate, finish_by, collapses_repeats, state, accepted_at, \
        expires_at, completed_at, worker, route, block, credential_id, credential_name, credential_role, credential_address
        """
    static let remove = "UPDATE message SET source = '' WHERE seq = ?"
    /// Writes the row anew: SQLite joins pages when a row goes, not when one gets shorter.
    static let rewrite = """
        INSERT OR REPLACE INTO message (source, \(columns)) SELECT '', \(columns) FROM message WHERE seq = ?
        """
    private static let addLate = "INSERT INTO late_payload (message, project) VALUES (?, ?)"
    private static let removeLate = "DELETE FROM late_payload WHERE message = ?"
    /// Behind the late ones.
    private static let walking: Int64 = -1

    mutating func run(after: Int64) throws -> RemovedRows {
        let removed = after < 0 ? try walk() : try removeLate(after: after)
        try endedSingles.finish()
        return removed
    }

    private mutating func removeLate(after: Int64) throws -> RemovedRows {
        var removed = RemovedRows(next: Self.walking)
        let rows = try db.rows(Self.late, [project, after, limit])
        for row in rows where hasEnded(row[1]) {
            try db.change(Self.removeLate, [row[0] as Int64])
            try remove(row[0])
            removed.count += 1
        }
        if rows.count == limit, let last = rows.last { removed.next = last[0] }
        return removed
    }

    private mutating func walk() throws -> RemovedRows {
        var removed = RemovedRows()
        let table = RetentionTable(db: db, project: project)
        let rows = try db.rows(Self.walk, [project, try table.payloadsAfter(), limit]).prefix {
            $0[2] < endedBefore.milliseconds
        }
        for row in rows {
            if hasEnded(row[1]) {
                try remove(row[0])
                removed.count += 1
            } else {
                try db.change(Self.addLate, [row[0] as Int64, project])
            }
        }
        if let last = rows.last { try table.setPayloadsAfter(last[0]) }
        if rows.count == limit { removed.next = Self.walking }
        return removed
    }

    private func hasEnded(_ completedAt: Int64?) -> Bool {
        completedAt.map { $0 < endedBefore.milliseconds } ?? false
    }

    private mutating func remove(_ message: Int64) throws {
        guard try !endedSingles.take(message) else { return }
        try db.change(db.dialect.shortensInPlace ? Self.rewrite : Self.remove, [message])
    }
}
