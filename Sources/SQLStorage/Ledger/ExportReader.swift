package import PushModel
package import Store

extension SQLStore {
    /// Ledger entries by block; the hours' bounds say where to begin and end. Receipts follow.
    package func export(
        project: ProjectID, from start: Timestamp?, to end: Timestamp, at now: Timestamp, after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> {
        let place = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .export, .receipts) }
        // What was recorded in this very millisecond is part of it: nothing else will be.
        let end = min(end, now + .milliseconds(1))
        try await closeLedger(before: end)
        return try await read { db in
            let removed = try RemovedLedger(db: db, project: project)
            try removed.refuse(from: start, to: end, after: place)
            return try ExportReader(db: db, project: project, start: start ?? removed.oldest, end: end)
                .page(after: place, limit: limit)
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

/// What retention took of a project's ledger.
private struct RemovedLedger {
    /// From then on nothing is missing; zero: nothing was removed.
    let oldest: Timestamp
    /// The newest block that was removed.
    private let lastBlock: Int64

    init(db: any Database, project: ProjectID) throws {
        let row = try db.row(RetentionTable.removed, [project.rawValue])
        oldest = Timestamp(milliseconds: row?[0] ?? 0)
        lastBlock = row?[1] ?? 0
    }

    /// Refuses a window, or the rest of one behind `place`, of which something is gone.
    func refuse(from start: Timestamp?, to end: Timestamp, after place: PageCursor?) throws {
        guard lastBlock > 0 else { return }
        let isWhole =
            switch place?.list {
            case .export?: (place?.last ?? 0) > lastBlock
            case nil: start.map { $0 >= oldest } ?? (end > oldest)
            default: true
            }
        guard !isWhole else { return }
        throw StoreError(.removed(oldest: oldest), "Rows of the ledger before \(oldest.rfc3339) were removed.")
    }
}

/// Reads ledger entries in the order they were recorded.
struct ExportReader {
    let db: any Database
    let project: ProjectID
    let start: Timestamp
    let end: Timestamp

    static let bounds = """
        SELECT min(first_id), max(last_id) FROM ledger_hour WHERE project = ? AND hour BETWEEN ? AND ?
        """
    static let blocks = """
        SELECT \(StoredBlock.columns) FROM ledger_block b INDEXED BY ledger_block_by_project \(StoredBlock.joins)
        WHERE b.project = ? AND b.id >= ? AND b.id <= ? AND b.recorded_at >= ? AND b.recorded_at < ? ORDER BY b.id LIMIT ?
        """

    func page(after place: PageCursor?, limit: Int) throws -> ResultPage<ExportRow> {
        guard start < end, limit > 0 else { return ResultPage(elements: [], nextCursor: nil) }
        var rows = place?.list == .receipts ? [] : try entries(after: place, limit: limit + 1)
        if rows.count <= limit {
            let last = place?.list == .receipts ? place?.last : nil
            rows += try ReceiptReader(db: db, project: project, start: start, end: end)
                .page(after: last ?? 0, limit: limit + 1 - rows.count)
        }
        return ResultPage(
            elements: Array(rows.prefix(limit)), nextCursor: rows.count > limit ? rows[limit - 1].cursor : nil)
    }

    /// What follows a page was recorded no earlier than its rows. It is not held against the start again, which may have moved:
    /// when retention takes a block, the oldest whole moment is the one behind it, and what else was recorded in the same
    /// moment is still to be told.
    private func entries(after place: PageCursor?, limit: Int) throws -> [ExportRow] {
        let isFirst = place == nil
        let firstHour = LedgerHour.hour(of: start)
        let hours = (first: isFirst ? firstHour : firstHour - 1, last: LedgerHour.hour(of: end))
        let recordedFrom = isFirst ? start.milliseconds : 0
        guard let bounds = try db.row(Self.bounds, [project.rawValue, hours.first, hours.last]),
            let first: Int64 = bounds[0], let final: Int64 = bounds[1]
        else { return [] }
        let reader = LedgerReader(db: db)
        let picks = try reader.picks(from: max(place?.last ?? 0, first), after: place, limit: limit) {
            try db.cursor(Self.blocks, [project.rawValue, $0, final, recordedFrom, end.milliseconds, $1])
        }
        return try reader.rows(picks) { PageCursor(.export, after: $0.stored.id, index: $0.index) }
    }
}
