import GRDB
public import PushModel

extension SQLiteStore {
    /// Ledger rows by row id; the hours' bounds say where to begin and end.
    public func export(
        project: ProjectID, from start: Timestamp, to end: Timestamp, at now: Timestamp, after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> {
        let last = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .export).last } ?? 0
        // What was recorded in this very millisecond is part of it: nothing else will be.
        let end = min(end, now + .milliseconds(1))
        try await closeLedger(before: end)
        return try await read { db in
            try ExportReader(db: db, project: project, start: start, end: end).page(after: last, limit: limit)
        }
    }

    /// From now on nothing is recorded before `end`. Without this, an answer that came before `end` and is committed
    /// after the export would be in no window.
    private func closeLedger(before end: Timestamp) async throws(StoreError) {
        let isClosed = try await read { db in try LedgerClock(db: db).now() >= end }
        guard !isClosed else { return }
        try await write { db in _ = try LedgerClock(db: db).advance(to: end) }
    }
}

/// The time of recording: kept in the store, and moved forward only, by what is recorded and by exports.
struct LedgerClock {
    let db: Database

    func now() throws -> Timestamp {
        Timestamp(milliseconds: try db.number("SELECT value FROM meta WHERE name = 'ledger_clock'") ?? 0)
    }

    /// Moves the clock to `time` unless it is past it.
    ///
    /// - Returns: the time of the clock now.
    func advance(to time: Timestamp) throws -> Timestamp {
        let now = try now()
        guard now < time else { return now }
        try db.change("UPDATE meta SET value = ? WHERE name = 'ledger_clock'", [time.milliseconds])
        return time
    }
}

/// Reads ledger rows in the order they were written.
struct ExportReader {
    let db: Database
    let project: ProjectID
    let start: Timestamp
    let end: Timestamp

    static let bounds = """
        SELECT min(first_id), max(last_id) FROM ledger_hour WHERE project = ? AND hour BETWEEN ? AND ?
        """
    static let rows = """
        SELECT l.id, \(DeliveryRecord.columns), m.seq, m.id, t.name, \(MessageFacts.columns)
        FROM ledger l INDEXED BY ledger_by_project
        CROSS JOIN message m ON m.seq = l.message
        LEFT JOIN topic t ON t.id = m.topic
        WHERE l.project = ? AND l.id > ? AND l.id <= ? AND l.recorded_at >= ? AND l.recorded_at < ?
        ORDER BY l.id LIMIT ?
        """

    func page(after last: Int64, limit: Int) throws -> ResultPage<ExportRow> {
        let hours = (first: LedgerSums.hour(of: start), last: LedgerSums.hour(of: end))
        guard start < end, limit > 0,
            let bounds = try db.row(Self.bounds, [project.rawValue, hours.first, hours.last]),
            let first: Int64 = bounds[0], let final: Int64 = bounds[1]
        else { return ResultPage(elements: [], nextCursor: nil) }
        var rows: [ExportRow] = []
        var hasMore = false
        let found = try Row.fetchCursor(
            db.cachedStatement(sql: Self.rows),
            arguments: [
                project.rawValue, max(last, first - 1), final, start.milliseconds, end.milliseconds, limit + 1,
            ])
        while let row = try found.next() {
            guard rows.count < limit else {
                hasMore = true
                break
            }
            rows.append(try Self.exportRow(row))
        }
        return ResultPage(elements: rows, nextCursor: hasMore ? rows.last?.cursor : nil)
    }

    private static func exportRow(_ row: Row) throws -> ExportRow {
        let topic = try (row[12] as String?).map { try Topic(stored: $0) }
        return ExportRow(
            delivery: try DeliveryRecord(row: row, from: 1), message: try MessageID(stored: row[11]), topic: topic,
            facts: try MessageFacts(row: row, from: 13), bulkID: topic == nil ? nil : row[10],
            cursor: PageCursor(.export, after: row[0]).text)
    }
}
