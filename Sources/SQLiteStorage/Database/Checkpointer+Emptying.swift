import Foundation
import GRDB

/// Empties the log, so that no file holds pages as they were before something was removed.
extension Checkpointer {
    /// How often it looks whether the writer and the readers are out of the way: 50 ms, while nothing is written.
    private static let attempts = 25

    /// Called by SQLite before each new attempt to get a lock, see ``SQLiteEngine/waitForTurn(attempts:)``. A copy beside
    /// the writer asks for none that it would have to wait for.
    static func waitBriefly(attempts: Int) -> Bool {
        guard attempts < Self.attempts else { return false }
        // As there: no signal comes from other connections.
        Thread.sleep(forTimeInterval: SQLiteEngine.busyStep)
        return true
    }

    /// Copies the log into the database and cuts it off (sqlite.org/pragma.html#pragma_wal_checkpoint, TRUNCATE).
    ///
    /// - Returns: `false`: a reader needs pages as the log has them, or another connection is in the way.
    func empty() async throws -> Bool {
        try await database.writeWithoutTransaction { db in try Self.empty(db) }
    }

    /// The same, while its thread waits: when the store is opened and closed.
    func emptyAtOnce() throws -> Bool {
        try database.writeWithoutTransaction { db in try Self.empty(db) }
    }

    private static func empty(_ db: Database) throws -> Bool {
        // What can be copied beside the writer is copied before it has to wait.
        _ = try checkpoint(db)
        return try Int.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == 0
    }
}
