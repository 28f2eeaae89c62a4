import PostgreSQLClient
import Store

/// The partitions of the ledger, within a transaction or snapshot of a session.
struct LedgerPartitionTable {
    let session: PostgreSQLSession

    /// How long a change of partitions waits for each lock, while others wait for it: it is tried again later.
    private static let patience = "SET LOCAL lock_timeout = '200ms'"

    /// In the order of their ids. Bounds are told as a text only.
    private static let all = #"""
        SELECT CAST(c.relname AS text),
            CAST((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \([^0-9]?(\d+)'))[1] AS bigint),
            CAST((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \([^0-9]?(\d+)'))[1] AS bigint)
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = CAST('ledger_block' AS regclass) ORDER BY 3
        """#
    private static let position = "SELECT last_value FROM ledger_block_id_seq"
    /// What is not called yet is the next number itself.
    private static let move = """
        SELECT setval('ledger_block_id_seq', $1, FALSE) FROM ledger_block_id_seq WHERE last_value < $1
        """
    /// Days of the first and last ids of hours that have blocks.
    private static let hours = """
        SELECT DISTINCT first_id >> \(LedgerPartition.bits), last_id >> \(LedgerPartition.bits) FROM ledger_hour
        """

    private static let anyBlock = "SELECT 1 FROM ledger_block WHERE id >= $1 AND id < $2 LIMIT 1"

    /// All of them, in the order of their ids.
    func all() throws -> [LedgerPartition] {
        let rows = try session.statement(Self.all)
        var partitions: [LedgerPartition] = []
        while try rows.next() {
            // One that is being removed has no bounds any more.
            guard !rows.isNull(2) else { continue }
            partitions.append(
                LedgerPartition(
                    name: rows.text(0), first: rows.isNull(1) ? nil : rows.number(1), end: rows.number(2)))
        }
        return partitions
    }

    /// The day of the ids that blocks get now; 0: days have not begun.
    func day() throws -> Int64 { LedgerPartition.day(ofID: try number(Self.position)) }

    /// Makes the partitions that are missing for some days; none between those that there are, whose ids are past. Also that
    /// of the ids of now: a copy of the database by `pg_dump` may have the sequence as it was moved while the copy was made.
    ///
    /// Attaching a table takes a lock that neither readers nor writers of the ledger wait for
    /// (postgresql.org/docs/15/ddl-partitioning.html).
    ///
    /// - Parameter span: the days of a partition.
    /// - Returns: whether one was missing.
    func make(_ days: ClosedRange<Int64>, span: Int64) throws -> Bool {
        let there = try all()
        var made = there.last?.endDay ?? 0
        var missing: [Range<Int64>] = []
        let position = try number(Self.position)
        if !there.contains(where: { ($0.first ?? .min) <= position && position < $0.end }) {
            let day = LedgerPartition.day(ofID: position)
            let next = there.compactMap(\.days?.lowerBound).first { $0 > day }
            missing.append(day..<min(day + span, next ?? .max))
            made = max(made, day + span)
        }
        missing += stride(from: max(made, days.lowerBound), through: days.upperBound, by: Int(span)).map {
            $0..<$0 + span
        }
        guard !missing.isEmpty else { return false }
        try session.execute(Self.patience)
        for days in missing { try make(LedgerPartition(days: days)) }
        return true
    }

    /// No new block comes in place of those that are removed, until the partition goes as a whole: a vacuum of dead rows would
    /// gain next to nothing. Those that freeze rows and note which pages are visible to all go on, and so does that of
    /// what is stored outside of rows: retention writes blocks of many messages anew, some of them more than once.
    private func make(_ partition: LedgerPartition) throws {
        try session.execute(
            """
            CREATE TABLE "\(partition.name)" (LIKE ledger_block INCLUDING CONSTRAINTS INCLUDING STORAGE)
            WITH (autovacuum_vacuum_threshold = 2147483647)
            """)
        try session.execute(
            """
            ALTER TABLE ledger_block ATTACH PARTITION "\(partition.name)"
            FOR VALUES FROM (\(partition.first ?? 0)) TO (\(partition.end))
            """)
    }

    /// Has blocks get ids of a day from now on, if it has a partition that was committed, and ids are not past it.
    func moveSequence(to day: Int64) throws {
        let id = LedgerPartition.firstID(ofDay: day)
        let partition = try all().last { ($0.first ?? .max) <= id && id < $0.end }
        guard let first = partition?.first else { return }
        let move = try session.statement(Self.move)
        move.bind(first)
        _ = try move.next()
        move.reset()
    }

    /// Partitions that hold nothing and that no block comes to any more: ids are past them.
    func emptied() throws -> [LedgerPartition] {
        let next = try number(Self.position)
        let used = try usedDays()
        return try all().filter { partition in
            guard let days = partition.days, partition.end <= next else { return false }
            // The hours tell at once that a partition has blocks. That it has none is read from itself.
            return try !used.contains { $0.overlaps(days) } && isEmpty(partition)
        }
    }

    private func usedDays() throws -> [ClosedRange<Int64>] {
        let hours = try session.statement(Self.hours)
        var days: [ClosedRange<Int64>] = []
        while try hours.next() { days.append(hours.number(0)...max(hours.number(0), hours.number(1))) }
        return days
    }

    private func isEmpty(_ partition: LedgerPartition) throws -> Bool {
        let row = try session.statement(Self.anyBlock)
        row.bind(partition.first ?? .min)
        row.bind(partition.end)
        defer { row.reset() }
        return try !row.next()
    }

    /// The number that a statement without parameters gives.
    func number(_ text: String) throws -> Int64 {
        let row = try session.statement(text)
        guard try row.next() else { throw StoreError(.failed, "The database gave no number.") }
        defer { row.reset() }
        return row.number(0)
    }

    /// Removes a partition, if it is there and holds nothing: no block can come while that is looked at.
    ///
    /// - Returns: whether it was removed.
    func drop(_ partition: LedgerPartition) throws -> Bool {
        try session.execute(Self.patience)
        try session.execute("LOCK TABLE ONLY ledger_block IN ACCESS EXCLUSIVE MODE")
        guard try all().contains(partition), try isEmpty(partition) else { return false }
        try session.execute("DROP TABLE \"\(partition.name)\"")
        return true
    }
}
