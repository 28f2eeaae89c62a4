import CoreMetrics
import Foundation
import GRDB
import Logging
import PushModel
import Store
import Synchronization

extension SQLiteEngine {
    /// Reads at the same time: look-ups, claims and audiences take at most two each, the rest is for lists and reports.
    private static let readerLimit = 10
    /// Time between two attempts to get a lock that another process holds, and how many there are: 5 seconds.
    static let busyStep: TimeInterval = 0.002
    static let busyAttempts = 2500

    /// Called by SQLite before each new attempt to get a lock. Its own way of waiting, with steps of up to 100 ms, is
    /// out of luck against a process that writes often: the lock is free in the short time between its transactions.
    static func waitForTurn(attempts: Int) -> Bool {
        guard attempts < busyAttempts else { return false }
        // The lock of another process: there is no signal to wait for.
        Thread.sleep(forTimeInterval: busyStep)
        return true
    }

    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "store"
        configuration.foreignKeysEnabled = true
        configuration.journalMode = .wal
        configuration.busyMode = .callback(Self.waitForTurn)
        configuration.maximumReaderCount = readerLimit
        configuration.prepareDatabase(Self.prepare)
        return configuration
    }

    /// - Parameter checkpoints: whether commits copy the log into the database now and then, as SQLite does by itself.
    static func open(_ directory: StoreDirectory, checkpoints: Bool) throws -> DatabasePool {
        let pool = try DatabasePool(path: directory.databasePath, configuration: configuration)
        // The pool sets NORMAL when it switches to WAL, which may lose the last commits with the power; "accepted" means
        // on the disk (sqlite.org/pragma.html#pragma_synchronous).
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            // Before a statement with triggers changes a page, SQLite keeps a copy, and more than 64 KiB of them in a
            // transaction go to a file otherwise (sqlite.org/tempfiles.html §2.4).
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
            if !checkpoints { try db.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
        }
        return pool
    }

    /// Lets a file that is made now give pages back, which can be chosen only before its first page is written
    /// (sqlite.org/pragma.html#pragma_auto_vacuum), and has what is deleted overwritten in every file: SQLite is built with
    /// another default here and there. A log that grew large gives its bytes back when it begins anew.
    private static func prepare(_ db: Database) throws {
        guard !db.configuration.readonly else { return }
        try db.execute(sql: "PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 67108864")
        guard try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 else { return }
        try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
    }

    /// Migrates under the gateway's lock only: two commands never migrate at once, and a command of a newer version
    /// never changes the tables under a running gateway.
    static func migrate(_ pool: DatabasePool, _ directory: StoreDirectory, isLocked: Bool) throws {
        let migrator = Schema.migrator
        var lock: GatewayLock?
        for attempt in 0... {
            let state = try pool.read { db in
                (isNewer: try migrator.hasBeenSuperseded(db), isDone: try migrator.hasCompletedMigrations(db))
            }
            guard !state.isNewer else {
                throw StoreError(
                    .newerSchema,
                    "The store in \(directory.path) was made by a newer version of Herald; install that version.")
            }
            if state.isDone { break }
            if !isLocked { lock = try GatewayLock(directory: directory) }
            if isLocked || lock != nil {
                try migrator.migrate(pool)
                break
            }
            guard attempt < 100 else {
                throw StoreError(
                    .inUse,
                    "The store in \(directory.path) is from an older version and a gateway has it open; "
                        + "restart the gateway with this version first.")
            }
            // The thread may block, see `SQLiteEngine.init`; another process ends this wait, which gives no signal.
            Thread.sleep(forTimeInterval: 0.05)
        }
        lock?.release()
    }

    /// Takes the gateway's lock. A command holds it for an instant when it makes the tables, hence a few attempts.
    static func gatewayLock(_ directory: StoreDirectory) throws(StoreError) -> GatewayLock {
        for _ in 0..<5 {
            if let lock = try GatewayLock(directory: directory) { return lock }
            // As above: no signal comes from the other process.
            Thread.sleep(forTimeInterval: 0.05)
        }
        let holder = GatewayLock.holder(of: directory).map { " (\($0))" } ?? ""
        throw StoreError(
            .inUse,
            "Another gateway\(holder) has the store in \(directory.path) open; stop it first, or give this one a data "
                + "directory of its own.")
    }
}
