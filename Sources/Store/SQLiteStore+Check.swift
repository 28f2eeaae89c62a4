import GRDB

extension SQLiteStore {
    /// Checks everything that must hold between the tables, in one snapshot: the law of each message, the sums against
    /// the rows they stand for, and the file itself. Reads the whole store; for `herald doctor` and tests.
    ///
    /// - Returns: what does not hold, a sentence each; empty when all is well.
    public func check() async throws(StoreError) -> [String] {
        try await read { db in
            var findings: [String] = []
            for rule in Self.rules {
                let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM (\(rule.violations))") ?? 0
                if count > 0 { findings.append("\(rule.text): \(count)") }
            }
            let damage = try String.fetchAll(db, sql: "PRAGMA quick_check")
            if damage != ["ok"] { findings += damage.map { "the file is damaged: \($0)" } }
            let orphans = try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").count
            if orphans > 0 { findings.append("rows that refer to nothing: \(orphans)") }
            return findings
        }
    }

    private static let rules: [(text: String, violations: String)] = [
        (
            "messages whose recipients are not the sum of ended and open deliveries",
            """
            SELECT 1 FROM message m
            WHERE (CASE WHEN m.topic IS NULL THEN 1
                ELSE (SELECT coalesce(sum(claimed), 0) FROM fan_out WHERE message = m.seq) END)
                <> (SELECT coalesce(sum(count), 0) FROM tally WHERE message = m.seq)
                + (SELECT coalesce(sum(claimed - settled), 0) FROM page WHERE message = m.seq)
                + (SELECT count(*) FROM pending WHERE message = m.seq)
            """
        ),
        (
            "sums of outcomes that are not the number of ledger rows",
            """
            SELECT message, outcome, ifnull(reason, ''), count(*) FROM ledger GROUP BY 1, 2, 3
            EXCEPT SELECT message, outcome, reason, count FROM tally
            """
        ),
        (
            "sums of outcomes without ledger rows",
            """
            SELECT message, outcome, reason FROM tally
            EXCEPT SELECT message, outcome, ifnull(reason, '') FROM ledger
            """
        ),
        (
            "messages whose latencies are not those of their accepted deliveries",
            """
            SELECT 1 FROM message m
            WHERE (SELECT coalesce(sum(count), 0) FROM latency WHERE message = m.seq)
                <> (SELECT coalesce(sum(count), 0) FROM tally WHERE message = m.seq AND outcome = 'accepted')
            """
        ),
        (
            "deliveries that are open and ended",
            """
            SELECT 1 FROM pending p JOIN ledger l ON l.message = p.message AND l.registration = p.registration
            """
        ),
        (
            "complete messages with open work",
            """
            SELECT 1 FROM message m WHERE m.completed_at IS NOT NULL AND (
                EXISTS (SELECT 1 FROM page WHERE message = m.seq)
                OR EXISTS (SELECT 1 FROM pending WHERE message = m.seq)
                OR EXISTS (SELECT 1 FROM fan_out WHERE message = m.seq AND done = 0))
            """
        ),
        (
            "open messages without work",
            """
            SELECT 1 FROM message m WHERE m.completed_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM page WHERE message = m.seq)
                AND NOT EXISTS (SELECT 1 FROM pending WHERE message = m.seq)
                AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = m.seq AND done = 0)
            """
        ),
        (
            "wrong counts of open messages",
            """
            SELECT 1 FROM meta WHERE name = 'active_messages'
                AND value <> (SELECT count(*) FROM message WHERE completed_at IS NULL)
            """
        ),
        (
            "topics with a wrong count of subscribers",
            """
            SELECT 1 FROM topic t
            WHERE t.subscribers <> (SELECT count(*) FROM subscription WHERE topic = t.id)
            """
        ),
        (
            "subscriptions of ended registrations",
            """
            SELECT 1 FROM subscription s JOIN registration r ON r.key = s.registration WHERE r.ended_at IS NOT NULL
            """
        ),
        (
            "ledger rows recorded before the one before them, or after the clock of the ledger",
            """
            SELECT 1 FROM (SELECT recorded_at, lag(recorded_at) OVER (ORDER BY id) AS before FROM ledger)
            WHERE recorded_at < before OR recorded_at > (SELECT value FROM meta WHERE name = 'ledger_clock')
            """
        ),
        (
            "ledger rows outside of the bounds of their hour",
            """
            SELECT 1 FROM ledger l WHERE NOT EXISTS (
                SELECT 1 FROM ledger_hour h
                WHERE h.project = l.project AND h.hour = l.recorded_at / 3600000
                    AND l.id BETWEEN h.first_id AND h.last_id)
            """
        ),
    ]

    /// The last column of each row as text, read from the writing connection: tests ask for pragmas and query plans
    /// with it.
    func lastColumn(of sql: String) async throws(StoreError) -> [String] {
        try await write { db in
            let statement = try db.makeStatement(sql: sql)
            statement.setUncheckedArguments([])
            return try Row.fetchAll(statement).map { row in
                let value: DatabaseValue = row[row.count - 1]
                if case .string(let text) = value.storage { return text }
                return value.description
            }
        }
    }
}
