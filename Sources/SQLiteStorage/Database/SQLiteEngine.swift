import Foundation
import GRDB
import Logging
import PushModel
import SQLStorage
import Store
import Synchronization

/// The embedded database: one SQLite database in a directory, WAL, synchronous FULL.
///
/// Every commit is synced. A sync that fails leaves it open what of the log is on the disk, see ``LogDoubt``.
final class SQLiteEngine: StorageEngine {
    let logger: Logger
    let pool: DatabasePool
    let checkpointer: Checkpointer?
    let directory: StoreDirectory
    let health: StoreHealth
    let texts = StatementTexts()
    let logDoubt = LogDoubt()
    /// What an import has while it runs.
    let importResources: ImportResources
    /// See ``StorageEngine/hasUncleanFiles``.
    let isUnclean = Mutex(false)
    let earlierWorkers: Int64
    private let lock: GatewayLock?
    private let time: @Sendable () -> Timestamp
    private let isClosed = Mutex(false)

    /// Opens the database in `directory`, makes directory and database if there are none, and migrates. Blocks its thread:
    /// on files, and up to some seconds while another process does the same.
    ///
    /// - Parameters:
    ///   - holder: who a second gateway is told has the store.
    ///   - leaseTime: by which leases are counted; `nil`: from the machine's time of now on by its monotonic clock.
    /// - Throws: ``StoreError`` or the database's error.
    init(
        directory path: String, role: StoreRole, holder: GatewayHolder?,
        leaseTime: (@Sendable () -> Timestamp)?, logger: Logger
    ) throws {
        time = leaseTime ?? Self.steadyTime()
        let directory = StoreDirectory(path: path)
        try directory.prepare()
        let lock: GatewayLock? =
            switch role {
            case .gateway: try Self.gatewayLock(directory)
            case .command: nil
            }
        if let holder { lock?.note(holder) }
        // A gateway has a connection for that.
        pool = try Self.open(directory, checkpoints: lock == nil)
        try Self.migrate(pool, directory, isLocked: lock != nil)
        earlierWorkers =
            lock == nil ? 0 : try pool.read { db in try Int64.fetchOne(db, sql: "SELECT max(id) FROM worker") ?? 0 }
        checkpointer =
            lock == nil
            ? nil
            : try Checkpointer(path: directory.databasePath, configuration: Self.configuration, logger: logger)
        importResources = ImportResources(
            checkpointing: lock == nil ? directory.databasePath : nil, logger: logger)
        self.lock = lock
        self.directory = directory
        self.logger = logger
        health = StoreHealth(path: directory.databasePath, logger: logger)
        if lock != nil { cleanAtStart() }
        logger.debug("Store opened", metadata: ["store.path": "\(directory.databasePath)"])
    }

    /// The machine's time of now, and from then on the monotonic clock.
    private static func steadyTime() -> @Sendable () -> Timestamp {
        let (start, opened) = (Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)), ContinuousClock.now)
        return { start + (ContinuousClock.now - opened) }
    }

    func note(_ holder: GatewayHolder) {
        lock?.note(holder)
    }

    var isBesideGateway: Bool { lock == nil && GatewayLock.isHeld(in: directory) }

    var importPace: ImportPace { ImportPace(isBesideGateway: isBesideGateway) }

    func leaseTime(_ db: any SQLStorage.Database) throws -> Timestamp { time() }

    /// Closes the database with nothing left in its log unless others have it open.
    func close() throws {
        guard !isClosed.withLock({ $0 }) else { return }
        let last = lastConnection()
        try importResources.close()
        try pool.close()
        try last?.close()
        isClosed.withLock { $0 = true }
        lock?.release()
    }
}

// MARK: - Reading and writing

extension SQLiteEngine {
    func readAtOnce<Value>(_ body: (any SQLStorage.Database) throws -> Value) throws -> Value {
        try pool.read { db in try body(SQLiteConnection(db, texts)) }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLStorage.Database) throws -> Value
    ) async throws -> Value {
        try await pool.read { [texts] db in try body(SQLiteConnection(db, texts)) }
    }

    func withReader(_ body: @escaping @Sendable (Result<any ReadConnection, any Error>) -> Void) {
        pool.asyncUnsafeRead { [texts] result in
            body(result.map { SQLiteReader(db: $0, texts: texts) as any ReadConnection })
        }
    }

    func withWriter(_ body: @escaping @Sendable (Result<any WriteConnection, any Error>) -> Void) {
        pool.asyncWriteWithoutTransaction { db in body(.success(SQLiteWriter(engine: self, db: db))) }
    }

    /// SQLite's count of what other connections commit, as the one that writes sees it: no other of this process does.
    func otherCommits() async throws -> Int64 {
        try await pool.writeWithoutTransaction { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") ?? 0 }
    }
}

/// A reader of the pool.
private struct SQLiteReader: ReadConnection {
    let db: GRDB.Database
    let texts: StatementTexts

    func inSnapshot(_ body: (any SQLStorage.Database) -> Void) throws {
        try db.beginTransaction(.deferred)
        body(SQLiteConnection(db, texts))
        do {
            try db.commit()
        } catch {
            // Nothing was written: what was read stands. The connection must not keep the snapshot.
            try? db.rollback()
        }
    }
}

/// The connection that writes.
private struct SQLiteWriter: WriteConnection {
    let engine: SQLiteEngine
    let db: GRDB.Database

    func inTransaction(_ body: (any SQLStorage.Database) throws -> Bool) throws -> Bool {
        do {
            try engine.logDoubt.settle(db)
            var isCommitted = false
            try db.inTransaction(.immediate) {
                isCommitted = try body(SQLiteConnection(db, engine.texts))
                return isCommitted ? .commit : .rollback
            }
            return isCommitted
        } catch {
            engine.logDoubt.note(error, db)
            throw error
        }
    }

    func afterAnswers() {
        engine.checkpointer?.noteCommit(pages: WrittenPages.take(db))
        engine.checkpointer?.catchUp(db)
    }
}

// MARK: - Imports

extension SQLiteEngine {
    func beginImport() throws -> Bool { try importResources.begin() }

    func prepareImport(_ db: any SQLStorage.Database) throws { try importResources.prepare(db.sqlite) }

    func noteImport() async throws {
        guard importResources.copiesLog else { return }
        try await pool.writeWithoutTransaction { [importResources] db in importResources.noteCommit(db) }
    }

    func endImport(_ db: any SQLStorage.Database) throws { try importResources.end(db.sqlite) }
}
