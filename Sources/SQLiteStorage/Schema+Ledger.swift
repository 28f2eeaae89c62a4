import GRDB
import PushModel
import Store

extension Schema {
    /// Makes the ledger of blocks out of the ledger of rows.
    ///
    /// Rows that were recorded at the same time become blocks together, so that each export window holds what it held.
    /// What is in memory at a time does not depend on the size of the ledger.
    static func migrateLedger(_ db: Database) throws {
        try db.execute(sql: ledgerBlocks)
        try keepFormerRegistrations(db)
        try db.execute(sql: "DELETE FROM ledger_hour")
        try packRows(db)
        try db.execute(sql: "DROP TABLE ledger")
    }

    /// `entries` are packed (``LedgerBlock``) and in one block of one outcome class: all accepted, or none. The other
    /// columns say what is in them, so that whoever looks for something reads no block without it. `outcomes` has a bit
    /// for each: 1 accepted, 2 rejected, 4 expired, 8 cancelled. `entries` comes last: what is asked of the other
    /// columns is on the first page of a row.
    ///
    /// `recorded_at` is what exports go by: it follows `meta.ledger_clock` and never goes back from block to block.
    /// `ledger_hour` bounds the ids of an hour's blocks, so that an export begins without reading what is older.
    /// `former_registration` is what the ledger needs of registrations that were purged.
    private static let ledgerBlocks = """
        CREATE TABLE ledger_block (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message INTEGER NOT NULL REFERENCES message (seq),
            project TEXT NOT NULL,
            recorded_at INTEGER NOT NULL,
            first_key INTEGER NOT NULL CHECK (first_key > 0),
            last_key INTEGER NOT NULL,
            rows INTEGER NOT NULL CHECK (rows BETWEEN 1 AND last_key - first_key + 1),
            outcomes INTEGER NOT NULL CHECK (outcomes IN (1, 2, 4, 6, 8, 10, 12, 14)),
            entries BLOB NOT NULL
        ) STRICT;
        CREATE INDEX ledger_block_by_message ON ledger_block (message, id, outcomes);
        CREATE INDEX ledger_block_not_accepted ON ledger_block (message, id, outcomes) WHERE outcomes <> 1;
        CREATE INDEX ledger_block_by_project ON ledger_block (project, id, first_key, last_key);

        CREATE TABLE former_registration (
            key INTEGER PRIMARY KEY,
            fid TEXT NOT NULL,
            app TEXT NOT NULL
        ) STRICT;
        """

    /// The rows had FID and app of their own; a registration that is gone leaves them here.
    private static func keepFormerRegistrations(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO former_registration (key, fid, app)
                SELECT registration, fid, app FROM ledger l
                WHERE NOT EXISTS (SELECT 1 FROM registration WHERE key = l.registration)
                """)
    }

    private static func packRows(_ db: Database) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT recorded_at, message, project, registration, outcome, reason, attempts, unknown_attempts,
                    ended_at, latency_ms
                FROM ledger ORDER BY id
                """)
        var writer: LedgerWriter?
        var time: Int64?
        var count = 0
        while let row = try rows.next() {
            if time != row[0] || count == LedgerWriter.blockLimit {
                try writer?.write()
                let next: Int64 = row[0]
                writer = LedgerWriter(db: db, recordedAt: Timestamp(milliseconds: next))
                time = next
                count = 0
            }
            count += 1
            let entry = LedgerBlock.Entry(
                key: row[3], endedAt: row[8], latencyMilliseconds: row[9], attempts: UInt32(clamping: row[6] as Int64),
                unknownAttempts: UInt32(clamping: row[7] as Int64), reason: LedgerBlock.Entry.noReason,
                outcome: try LedgerOutcome(storedCase: row[4]))
            writer?.append(counted: entry, reason: row[5], message: row[1], project: try ProjectID(stored: row[2]))
        }
        try writer?.write()
    }
}
