import GRDB
import Synchronization

/// Whether a commit failed in a way that leaves the log in doubt. Only the connection that writes uses it.
///
/// A sync that fails leaves it open what of the log is on the disk, and Linux reports such an error once
/// (sqlite.org/atomiccommit.html §9.5): the next sync may succeed over pages that were never written. So after such an
/// error the log is written over and checkpointed before any other write is answered.
final class LogDoubt: Sendable {
    private let isDoubtful = Mutex(false)

    /// Remembers an error that may leave the log in doubt, and tries to settle it at once: a process that ends now would
    /// find a commit whose sync failed complete in the log, though its writers were told that it failed.
    func note(_ error: any Error, _ db: Database) {
        let codes: [ResultCode] = [.SQLITE_IOERR, .SQLITE_FULL]
        guard let code = (error as? DatabaseError)?.resultCode, codes.contains(code) else { return }
        let isNew = isDoubtful.withLock { isDoubtful in
            defer { isDoubtful = true }
            return !isDoubtful
        }
        // What was in doubt before was tried before this group. The error that is told is the first one, and the next
        // group tries again.
        if isNew { try? settle(db) }
    }

    /// Brings the log and the disk together after a commit whose sync failed; otherwise nothing.
    ///
    /// A transaction that changes nothing else takes the place of the failed one in the log. Then everything that was
    /// committed is copied into the database and synced there: what the log has on the disk does not matter any more
    /// (sqlite.org/wal.html#ckpt).
    ///
    /// - Throws: the database's error, or SQLITE_BUSY when readers kept the checkpoint from its end; the log is still in
    ///   doubt then, and nothing may be answered.
    func settle(_ db: Database) throws {
        guard isDoubtful.withLock({ $0 }) else { return }
        try db.inTransaction(.immediate) {
            try db.execute(sql: "UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
            return .commit
        }
        // Busy, frames in the log, frames that were copied.
        let row = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(FULL)")
        guard let row, row[0] == 0, row[1] as Int? == row[2] as Int? else {
            throw DatabaseError(resultCode: .SQLITE_BUSY, message: "the log can't be checkpointed beside its readers")
        }
        isDoubtful.withLock { $0 = false }
    }
}
