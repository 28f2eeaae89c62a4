import GRDB
import Logging
import SQLStorage
import Store
import Synchronization

/// Files that hold nothing of what was removed.
extension SQLiteEngine {
    /// The largest file that is written anew beside the gateway: some seconds of the writer.
    static let rewriteLimitBytes = 256 << 20
    /// Attempts to empty the log, and the time between two of them, in which others write: about 3 s together.
    private static let emptyAttempts = 20
    private static let emptyRest: Duration = .milliseconds(100)

    var hasUncleanFiles: Bool { isUnclean.withLock { $0 } }

    /// Writes the file anew if something was erased since that was done last, then empties the log.
    func cleanFiles() async throws -> CleaningObstacle? {
        isUnclean.withLock { $0 = true }
        let isRewritten = try await pool.writeWithoutTransaction { db in
            try RewriteMark(db: db).rewrite(upTo: Self.rewriteLimitBytes)
        }
        let isEmpty = try await emptyLog()
        isUnclean.withLock { $0 = !isEmpty }
        return isRewritten ? isEmpty ? nil : .reader : .fileSize
    }

    func noteErasure(_ db: any SQLStorage.Database) throws { try RewriteMark(db: db.sqlite).set() }

    func isCleaningDue(_ db: any SQLStorage.Database) throws -> Bool { try RewriteMark(db: db.sqlite).isDue() }

    /// A twentieth of the file stays: new rows need it soon.
    func spareFilePages(_ db: any SQLStorage.Database) throws -> Int {
        let db = try db.sqlite
        let all = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
        return free - all / 20
    }

    /// From the end of the file.
    func releaseFilePages(_ count: Int, _ db: any SQLStorage.Database) throws {
        try db.sqlite.execute(sql: "PRAGMA incremental_vacuum(\(count))")
    }

    /// Does that for what a gateway left that ended beside a reader, or was killed. It starts whether that succeeds or not.
    func cleanAtStart() {
        do {
            _ = try pool.writeWithoutTransaction { db in try RewriteMark(db: db).rewrite(upTo: Self.rewriteLimitBytes) }
            let isEmpty = try checkpointer?.emptyAtOnce() ?? true
            isUnclean.withLock { $0 = !isEmpty }
        } catch {
            isUnclean.withLock { $0 = true }
            logger.warning("the store's files can't be cleaned", metadata: ["error": "\(error)"])
        }
    }

    /// The connection that is to be closed last: when no other process has the store open, SQLite copies what is left of the
    /// log and removes it, but only on a connection that may write (sqlite.org/wal.html), and a pool closes its readers last.
    func lastConnection() -> DatabaseQueue? {
        do {
            guard let checkpointer else {
                return try DatabaseQueue(path: directory.databasePath, configuration: Self.configuration)
            }
            _ = try checkpointer.emptyAtOnce()
        } catch {
            // The log keeps everything, and the next start copies it.
            logger.warning("the store's log can't be copied at the end", metadata: ["error": "\(error)"])
        }
        return checkpointer?.database
    }

    /// Gives up after a while, when a reader keeps what it began to read.
    private func emptyLog() async throws -> Bool {
        guard let checkpointer else {
            return try await pool.writeWithoutTransaction { db in
                try Int.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == 0
            }
        }
        for _ in 0..<Self.emptyAttempts {
            if try await checkpointer.empty() { return true }
            // A reader, perhaps of another process, ends without a signal. Who is cancelled meanwhile doesn't wait for it.
            guard (try? await Task.sleep(for: Self.emptyRest)) != nil else { return false }
        }
        return false
    }
}

/// Whether the file is to be written anew: a page that SQLite fills up with rows of its neighbours may keep old copies of rows
/// in the part that it does not use, which nothing else overwrites.
struct RewriteMark {
    let db: GRDB.Database

    private static let value = "SELECT value FROM meta WHERE name = 'rewrite_due'"
    private static let version = "PRAGMA schema_version"

    /// Notes that something was erased, in the transaction that does.
    func set() throws {
        try db.execute(
            sql: "UPDATE meta SET value = ? WHERE name = 'rewrite_due'",
            arguments: [try Int64.fetchOne(db, sql: Self.version)])
    }

    func isDue() throws -> Bool { try Int64.fetchOne(db, sql: Self.value) == Int64.fetchOne(db, sql: Self.version) }

    /// Writes the file anew if that is due and the file is not too large for it.
    ///
    /// - Returns: whether it is not due any more.
    func rewrite(upTo limitBytes: Int) throws -> Bool {
        guard try isDue() else { return true }
        let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        let size = try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
        guard pages * size <= limitBytes else { return false }
        try db.execute(sql: "VACUUM")
        return true
    }
}
