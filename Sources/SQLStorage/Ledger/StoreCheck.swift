package import Store

extension SQLStore {
    /// Checks everything that must hold between the tables: the law of each message recounted from its ledger entries,
    /// the sums against what they stand for, and the file itself. Reads the whole store; for `herald doctor` and tests.
    ///
    /// What belongs together is read in one snapshot (a message with its ledger, a rule between tables, a table with its
    /// indexes), but no snapshot is kept for the whole check: a running gateway goes on, and its journal does not grow
    /// meanwhile.
    ///
    /// - Parameter progress: called now and then with how many messages are checked, and about how many there are.
    /// - Returns: what does not hold, a sentence each; empty when all is well.
    package func check(progress: @Sendable (Int, Int) -> Void) async throws(StoreError) -> [String] {
        var findings = CheckFindings()
        for rule in Self.rules {
            let count = try await readWholeTables { db in
                try db.number("SELECT count(*) FROM (\(rule.violations)) v") ?? 0
            }
            findings.add(rule.text, count: Int(count))
        }
        try await checkFile(&findings)
        try await checkShared(&findings)
        try await recount(&findings, progress)
        return findings.sentences
    }

    private func checkFile(_ findings: inout CheckFindings) async throws(StoreError) {
        do {
            for (text, count) in try await engine.examine() { findings.add(text, count: count) }
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }

    /// Compares the blocks that messages to one registration share with what these say of them.
    private func checkShared(_ findings: inout CheckFindings) async throws(StoreError) {
        var last: Int64? = 0
        while let after = last {
            let (found, next) = try await read { db in try SharedBlocks(db: db).check(after: after) }
            findings.add(found)
            last = next
        }
    }

    /// How much one snapshot of a recount reads: some messages, or one large one.
    private static let messagesOfSnapshot = 500
    private static let blocksOfSnapshot = 5_000

    private func recount(
        _ findings: inout CheckFindings, _ progress: @Sendable (Int, Int) -> Void
    ) async throws(StoreError) {
        let total = try await readWholeTables { db in Int(try db.number(LedgerRecount.count) ?? 0) }
        let before = try await read { db in try DeliveryDaySums(stored: db) }
        var days: DeliveryDaySums? = DeliveryDaySums()
        var last: Int64? = 0
        var done = 0
        while let start = last {
            progress(done, max(total, done))
            let step = try await read { db in
                var step = RecountStep(last: nil)
                var blocks = 0
                while let row = try db.row(LedgerRecount.messages, [step.last ?? start]) {
                    var recount = try LedgerRecount(db: db, row: row)
                    let (found, count) = try recount.run()
                    step.take(recount.message, found, recount.days)
                    blocks += count
                    if step.messages == Self.messagesOfSnapshot || blocks >= Self.blocksOfSnapshot { break }
                }
                return step
            }
            findings.add(step.findings)
            if let part = step.days { days?.add(part) } else { days = nil }
            done += step.messages
            last = step.last
        }
        if let days {
            let (kept, ends) = try await read { db in
                (try DeliveryDaySums(stored: db), try DeliveryDaySums.removedDays(db))
            }
            findings.add(
                "sums by day that are not those of the ledger",
                count: kept.differences(to: days, since: before, after: ends))
        }
        progress(done, done)
    }

    private struct RecountStep {
        var last: Int64?
        var messages = 0
        var findings = CheckFindings()
        /// The entries by day; `nil`: not all can be read.
        var days: DeliveryDaySums? = DeliveryDaySums()

        mutating func take(_ message: Int64, _ found: CheckFindings, _ part: DeliveryDaySums?) {
            last = message
            messages += 1
            findings.add(found)
            if let part { days?.add(part) } else { days = nil }
        }
    }

    private static let rules: [(text: String, violations: String)] = [
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
            SELECT 1 FROM message m WHERE m.completed_at IS NULL AND m.worker IS NULL
                AND NOT EXISTS (SELECT 1 FROM page WHERE message = m.seq)
                AND NOT EXISTS (SELECT 1 FROM pending WHERE message = m.seq)
                AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = m.seq AND done = 0)
            """
        ),
        (
            "events with a number missing before them",
            """
            SELECT 1 FROM (SELECT first, lag(number, 1, first - 1) OVER (ORDER BY number) AS before FROM event) e
            WHERE first <> before + 1
            """
        ),
        (
            "projects with wrong counts of open messages or active registrations",
            """
            SELECT 1 FROM project p
            WHERE p.messages <> (SELECT count(*) FROM message WHERE project = p.name AND completed_at IS NULL)
                OR p.bytes <> (SELECT coalesce(sum(bytes), 0) FROM message
                    WHERE project = p.name AND completed_at IS NULL)
                OR p.registrations <> (
                    SELECT count(*) FROM registration r JOIN app a ON a.id = r.app
                    WHERE a.project = p.name AND r.ended_at IS NULL AND r.channel < 4)
            """
        ),
        (
            "projects that are not counted",
            """
            SELECT project FROM message WHERE completed_at IS NULL
            UNION SELECT a.project FROM registration r JOIN app a ON a.id = r.app WHERE r.ended_at IS NULL
                AND r.channel < 4
            EXCEPT SELECT name FROM project
            """
        ),
        (
            "shards that are offered wrongly",
            """
            SELECT 1 FROM fan_out f JOIN message m ON m.seq = f.message
            WHERE f.is_open <> CASE WHEN m.state = 'ACTIVE' AND (f.done = 0 OR EXISTS (
                SELECT 1 FROM page WHERE message = f.message AND shard = f.shard AND worker IS NULL)) THEN 1 ELSE 0 END
            """
        ),
        (
            "shards that claimed less than their pages hold",
            """
            SELECT 1 FROM fan_out f WHERE f.claimed < (
                SELECT coalesce(sum(claimed), 0) FROM page WHERE message = f.message AND shard = f.shard)
            """
        ),
        (
            "single deliveries of active messages that are held",
            """
            SELECT 1 FROM pending p JOIN message m ON m.seq = p.message WHERE p.is_held = 1 AND m.state = 'ACTIVE'
            """
        ),
        (
            "claims of workers that ended",
            """
            SELECT 1 FROM worker w WHERE w.ended_at IS NOT NULL AND (
                EXISTS (SELECT 1 FROM page WHERE worker = w.id) OR EXISTS (SELECT 1 FROM pending WHERE worker = w.id)
                OR EXISTS (SELECT 1 FROM message WHERE worker = w.id))
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
            "kept subscriptions of registrations that were not superseded",
            """
            SELECT 1 FROM superseded_subscription s JOIN registration r ON r.key = s.registration
            WHERE r.superseded IS NULL
            """
        ),
        (
            "channels without a registration that stands for them, or with one that has ended",
            """
            SELECT 1 FROM channel c LEFT JOIN registration r ON r.key = c.registration
            WHERE c.id IS NOT NULL AND c.lost_at IS NULL AND (r.key IS NULL OR r.ended_at IS NOT NULL OR r.channel < 4)
            """
        ),
        (
            "registrations that stand for a channel that is not there",
            """
            SELECT 1 FROM registration r WHERE r.channel > 3 AND r.ended_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM channel WHERE registration = r.key)
            """
        ),
        (
            "members of device groups that have ended",
            """
            SELECT 1 FROM device_group_member m JOIN registration r ON r.key = m.registration
            WHERE r.ended_at IS NOT NULL
            """
        ),
        (
            "sums of receipts that are not those of the receipts",
            """
            SELECT 1 FROM (
                SELECT message, kind, count(*) FROM receipt GROUP BY message, kind
                EXCEPT SELECT message, kind, count FROM receipt_tally
                UNION ALL SELECT message, kind, count FROM receipt_tally t
                    WHERE NOT EXISTS (SELECT 1 FROM receipt WHERE message = t.message AND kind = t.kind)) f
            WHERE EXISTS (
                SELECT 1 FROM every_message m LEFT JOIN retention r ON r.project = m.project
                WHERE m.seq = f.message AND m.accepted_at >= coalesce(r.receipts_start, 0) AND m.seq IS DISTINCT FROM r.removing)
            """
        ),
        (
            "receipts or links of messages that are not there",
            """
            SELECT 1 FROM receipt f WHERE NOT EXISTS (SELECT 1 FROM every_message m WHERE m.seq = f.message)
            UNION ALL SELECT 1 FROM receipt_tally f
            WHERE NOT EXISTS (SELECT 1 FROM every_message m WHERE m.seq = f.message)
            UNION ALL SELECT 1 FROM message_link f
            WHERE NOT EXISTS (SELECT 1 FROM every_message m WHERE m.seq = f.message)
            """
        ),
        (
            "messages that are kept twice, or without their kind",
            """
            SELECT 1 FROM ended_single e WHERE EXISTS (SELECT 1 FROM message WHERE seq = e.seq OR id = e.id)
                OR NOT EXISTS (SELECT 1 FROM single_kind WHERE id = e.kind)
                OR NOT EXISTS (SELECT 1 FROM retention WHERE id = e.project)
            """
        ),
        (
            "sums of receipts by day that are not those of the receipts",
            """
            WITH counted (app, day, label, count) AS (\(ReceiptTable.days()))
            SELECT 1 FROM (
                SELECT * FROM (SELECT * FROM counted EXCEPT SELECT app, day, label, count FROM received_day) c
                UNION ALL SELECT * FROM (SELECT app, day, label, count FROM received_day EXCEPT SELECT * FROM counted) c) f
            CROSS JOIN app a ON a.id = f.app LEFT JOIN retention r ON r.project = a.project
            WHERE f.day > coalesce(r.days_after, -1)
                AND (coalesce(r.receipts_start, 0) = 0 OR f.day > r.receipts_start / 86400000)
            """
        ),
        (
            "ledger blocks recorded before the one before them, or after the clock of the ledger",
            """
            SELECT 1 FROM (SELECT recorded_at, lag(recorded_at) OVER (ORDER BY id) AS before FROM ledger_block) b
            WHERE recorded_at < before OR recorded_at > (SELECT value FROM meta WHERE name = 'ledger_clock')
            """
        ),
        (
            "ledger blocks outside of the bounds of their hour",
            """
            SELECT 1 FROM ledger_block b WHERE NOT EXISTS (
                SELECT 1 FROM ledger_hour h
                WHERE h.project = b.project AND h.hour = b.recorded_at / 3600000
                    AND b.id BETWEEN h.first_id AND h.last_id)
            """
        ),
    ]
}
