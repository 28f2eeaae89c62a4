public import CoreMetrics
import Foundation
import GRDB
public import Logging

/// The embedded store: one SQLite database in a directory, WAL, synchronous FULL.
///
/// Safe to share; writes go one at a time, reads beside them. ``close()`` ends it.
public final class SQLiteStore: Sendable {
    /// Who opens the store.
    public enum Role: Sendable {
        /// The one gateway; a second one is refused.
        case gateway
        /// A command beside a running gateway.
        case command
    }

    let logger: Logger
    private let pool: DatabasePool
    let committer: GroupCommitter
    private let lock: GatewayLock?

    /// Opens the store in `directory`, makes directory and database if there are none, and migrates.
    ///
    /// - Parameter metrics: where the gauges of the queue of writes go; the process' own when `nil`.
    /// - Throws: ``StoreError`` `.unavailable`, `.inUse` or `.newerSchema`, with the path in the text.
    public init(
        directory: String, role: Role, metrics: (any MetricsFactory)? = nil, logger: Logger
    ) throws(StoreError) {
        let directory = StoreDirectory(path: directory)
        try directory.prepare()
        let lock: GatewayLock? =
            switch role {
            case .gateway: try Self.gatewayLock(directory)
            case .command: nil
            }
        do {
            pool = try Self.open(directory)
            try Self.migrate(pool, directory, isLocked: lock != nil)
            committer = try GroupCommitter(pool: pool, metrics: metrics ?? MetricsSystem.factory)
        } catch let error as StoreError {
            throw error
        } catch {
            let reason = StoreError(database: error)
            throw StoreError(
                .unavailable, "The store in \(directory.path) can't be opened. \(reason.message)",
                underlying: reason.underlying)
        }
        self.lock = lock
        self.logger = logger
        logger.debug("Store opened", metadata: ["store.path": "\(directory.databasePath)"])
    }

    /// Whether a write goes through right now.
    public func isWritable() async -> Bool {
        do {
            try await write { db in
                try db.execute(sql: "UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
            }
            return true
        } catch {
            logger.warning("Store is not writable", metadata: ["error": "\(error.message)"])
            return false
        }
    }

    /// Finishes running work and closes the database. Idempotent.
    public func close() throws(StoreError) {
        do {
            try pool.close()
        } catch {
            throw StoreError(database: error)
        }
        lock?.release()
    }

    /// Runs a write in the next group commit; returns after the commit.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await committer.write(body)
        } catch {
            throw StoreError(database: error)
        }
    }

    /// Reads in one snapshot, beside the writer.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw StoreError(database: error)
        }
    }
}

extension SQLiteStore {
    private static func open(_ directory: StoreDirectory) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "store"
        configuration.foreignKeysEnabled = true
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(5)
        let pool = try DatabasePool(path: directory.databasePath, configuration: configuration)
        // The pool sets NORMAL when it switches to WAL, which may lose the last commits with the power; "accepted" means
        // on the disk (sqlite.org/pragma.html#pragma_synchronous).
        try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
        return pool
    }

    /// Migrates under the gateway's lock only: two commands never migrate at once, and a command of a newer version
    /// never changes the tables under a running gateway.
    private static func migrate(_ pool: DatabasePool, _ directory: StoreDirectory, isLocked: Bool) throws {
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
            Thread.sleep(forTimeInterval: 0.05)
        }
        lock?.release()
    }

    /// Takes the gateway's lock. A command holds it for an instant when it makes the tables, hence a few attempts.
    private static func gatewayLock(_ directory: StoreDirectory) throws(StoreError) -> GatewayLock {
        for _ in 0..<5 {
            if let lock = try GatewayLock(directory: directory) { return lock }
            Thread.sleep(forTimeInterval: 0.05)
        }
        throw StoreError(
            .inUse,
            "Another gateway has the store in \(directory.path) open; stop it first, or give this one a data directory "
                + "of its own.")
    }
}
