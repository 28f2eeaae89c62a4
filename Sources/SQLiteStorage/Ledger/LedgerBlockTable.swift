import Foundation
import GRDB
import PushModel
import Store

/// The unit of `ledger_hour`.
enum LedgerHour {
    /// The hour of a time of recording, since 1970.
    static func hour(of time: Timestamp) -> Int64 { time.seconds / 3600 }
}

/// The blocks within one transaction.
struct LedgerBlockTable {
    let db: Database

    static let insert = """
        INSERT INTO ledger_block (message, project, recorded_at, first_key, last_key, rows, outcomes, entries)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// Appends a block and gives its id: greater than that of any block before.
    ///
    /// - Parameter entries: at least one, in the order of their keys.
    func insert(
        _ entries: ArraySlice<LedgerBlock.Entry>, _ reasons: [String], message: Int64, _ project: ProjectID,
        _ recordedAt: Timestamp
    ) throws -> Int64 {
        let bytes = try LedgerBlock.encode(entries, reasons: reasons)
        var outcomes: Int64 = 0
        for entry in entries { outcomes |= LedgerBlock.bit(of: entry.outcome) }
        try db.change(
            Self.insert,
            [
                message, project.rawValue, recordedAt.milliseconds, entries.first?.key, entries.last?.key,
                entries.count, outcomes, Data(bytes),
            ])
        return db.lastInsertedRowID
    }

    /// Notes that blocks of a project were recorded in an hour.
    func extend(hour: Int64, _ project: ProjectID, _ blocks: ClosedRange<Int64>) throws {
        try db.change(
            """
            INSERT INTO ledger_hour (project, hour, first_id, last_id) VALUES (?, ?, ?, ?)
            ON CONFLICT (project, hour) DO UPDATE SET first_id = min(first_id, excluded.first_id),
                last_id = max(last_id, excluded.last_id)
            """,
            [project.rawValue, hour, blocks.lowerBound, blocks.upperBound])
    }
}
