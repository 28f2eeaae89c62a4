package import CoreMetrics
import Foundation
import GRDB
package import Logging
package import PushModel
package import Store
import Synchronization

/// The embedded store: one SQLite database in a directory, WAL, synchronous FULL.
///
/// Safe to share; writes go one at a time, reads beside them. ``close()`` ends it.
package final class SQLiteStore: Sendable {
    let logger: Logger
    let pool: DatabasePool
    let committer: GroupCommitter
    let checkpointer: Checkpointer?
    let registrations: RegistrationCache
    let changeSource = ChangeSource()
    private let lookups: ReadBatcher
    /// Steps of counting audiences that may run at the same time.
    let audiences = AsyncSemaphore(places: 2)
    /// Sets times back one at a time.
    let clamping = AsyncSemaphore(places: 1)
    private let lock: GatewayLock?
    /// Workers up to this number belong to gateways that ended before this one took the lock; 0 in a command.
    let earlierWorkers: Int64
    /// By which leases are counted.
    let leaseTime: @Sendable () -> Timestamp
    let directory: StoreDirectory

    /// The newest time of recording in the ledger when the store was opened; `nil` when there was none. The wall clock
    /// may have been set back since.
    package let lastRecordedAt: Timestamp?
    let health: StoreHealth
    /// See ``LinkStore/linkVersions``.
    let linkClock = LinkClock()
    /// What the store ended by itself and was not asked for yet.
    let ownEnds = Mutex(OwnEnds())
    /// What an import has while it runs.
    let importResources: ImportResources
    /// Where the removals of what is out of date stand.
    let removals = Mutex<[RetentionPart: RemovalPass]>([:])
    /// See ``StoreRetention/hasUncleanFiles``.
    let isUnclean = Mutex(false)
    private let isClosed = Mutex(false)

    /// Opens the store in `directory`, makes directory and database if there are none, and migrates. Blocks its thread: on
    /// files, and up to some seconds while another process does the same.
    ///
    /// - Parameters:
    ///   - holder: who a second gateway is told has the store.
    ///   - leaseTime: by which leases are counted: steady, and the same for all processes that share the store. `nil`: from
    ///     the machine's time of now on by its monotonic clock; one gateway alone counts leases.
    ///   - metrics: where the gauges of the queue of writes go; the process' own when `nil`.
    /// - Throws: ``StoreError`` `.unavailable`, `.inUse` or `.newerSchema`, with the path in the text.
    package init(
        directory: String, role: StoreRole, holder: GatewayHolder? = nil,
        leaseTime: (@Sendable () -> Timestamp)? = nil, metrics: (any MetricsFactory)? = nil, logger: Logger
    ) throws(StoreError) {
        self.leaseTime = leaseTime ?? Self.steadyTime()
        let directory = StoreDirectory(path: directory)
        try directory.prepare()
        let lock: GatewayLock? =
            switch role {
            case .gateway: try Self.gatewayLock(directory)
            case .command: nil
            }
        if let holder { lock?.note(holder) }
        do {
            // A gateway has a connection for that.
            pool = try Self.open(directory, checkpoints: lock == nil)
            try Self.migrate(pool, directory, isLocked: lock != nil)
            lookups = ReadBatcher(pool: pool, metrics: metrics ?? MetricsSystem.factory)
            earlierWorkers = lock == nil ? 0 : try pool.read { db in try db.number("SELECT max(id) FROM worker") ?? 0 }
            lastRecordedAt = try pool.read { db in try Self.lastRecordedAt(db) }
            registrations = RegistrationCache(
                number: try pool.read { db in try RegistrationChanges(db: db).number() })
            checkpointer =
                lock == nil
                ? nil
                : try Checkpointer(path: directory.databasePath, configuration: Self.configuration, logger: logger)
            committer = try GroupCommitter(
                pool: pool, checkpointer: checkpointer, source: changeSource, registrations: registrations,
                metrics: metrics ?? MetricsSystem.factory)
        } catch let error as StoreError {
            throw error
        } catch {
            let reason = StoreError(database: error)
            throw StoreError(
                .unavailable, "The store in \(directory.path) can't be opened. \(reason.message)",
                mayPass: reason.mayPass, underlying: reason.underlying)
        }
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

    /// Changes what a second gateway is told, once more is known.
    package func note(_ holder: GatewayHolder) {
        lock?.note(holder)
    }

    /// Whether this is a command's, and a gateway has the store open now.
    package var isBesideGateway: Bool { lock == nil && GatewayLock.isHeld(in: directory) }

    /// Finishes running work and closes the database, with nothing left in its log unless others have it open. Idempotent.
    package func close() throws(StoreError) {
        guard !isClosed.withLock({ $0 }) else { return }
        do {
            let last = lastConnection()
            try importResources.close()
            try pool.close()
            try last?.close()
        } catch {
            throw StoreError(database: error)
        }
        isClosed.withLock { $0 = true }
        lock?.release()
    }

    /// Runs a write in one of the next group commits; returns after the commit, when it is on the disk.
    ///
    /// - Parameters:
    ///   - kind: whose places in the queue it takes.
    ///   - rows: about how many rows it changes: a group is limited by these.
    ///   - change: what others are told after it, beside events.
    func write<Value: Sendable>(
        _ kind: WriteKind = .change, rows: Int = 1, telling change: StoreChange = [],
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        try await writeShared(kind, rows: rows, telling: change) { transaction in
            // Others of the transaction may have looked up what this one changes.
            defer { transaction.forget() }
            return try body(transaction.db)
        }
    }

    /// As ``write(_:rows:telling:_:)``, with what the writes of the transaction share. For accepts and settlements, which
    /// change nothing that others look up.
    func writeShared<Value: Sendable>(
        _ kind: WriteKind, rows: Int, telling change: StoreChange = [],
        _ body: @escaping @Sendable (WriteTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            let value = try await committer.write(kind, rows: rows, body)
            changeSource.post(change)
            return value
        } catch {
            throw health.note(StoreError(database: error), isWrite: true)
        }
    }

    /// Runs `body` on the connection that writes, between two transactions.
    func betweenWrites(_ body: @escaping @Sendable (Database) -> Void) async throws(StoreError) {
        do {
            try await pool.writeWithoutTransaction { db in body(db) }
        } catch {
            throw health.note(StoreError(database: error), isWrite: true)
        }
    }

    /// Looks a row up by an index, in one snapshot with whatever else is looked up at this moment.
    func lookUp<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await lookups.read(body)
        } catch {
            throw health.note(StoreError(database: error))
        }
    }

    /// Reads in one snapshot, beside the writer.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw health.note(StoreError(database: error))
        }
    }
}
