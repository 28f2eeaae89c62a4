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
    /// Who opens the store.
    package enum Role: Sendable {
        /// The one gateway; a second one is refused.
        case gateway
        /// A command beside a running gateway.
        case command
    }

    /// What reads and writes found wrong with the file.
    private struct Damage {
        var text: String?
        /// Whether the file is being read in search of it.
        var isExamined = false
        var examinedAt: ContinuousClock.Instant?
    }

    /// Time between two searches for damage.
    private static let examinationInterval: Duration = .seconds(10)

    let logger: Logger
    private let pool: DatabasePool
    let committer: GroupCommitter
    private let lookups: ReadBatcher
    /// Steps of counting audiences that may run at the same time.
    let audiences = AsyncSemaphore(places: 2)
    /// Sets times back one at a time.
    let clamping = AsyncSemaphore(places: 1)
    private let lock: GatewayLock?
    /// Workers up to this number belong to gateways that ended before this one took the lock; 0 in a command.
    let earlierWorkers: Int64
    private let directory: StoreDirectory
    private var path: String { directory.databasePath }

    /// The newest time of recording in the ledger when the store was opened; `nil` when there was none. The wall clock
    /// may have been set back since.
    package let lastRecordedAt: Timestamp?
    private let damage = Mutex(Damage())
    /// The last write that failed as any would.
    private let refusal = Mutex<(text: String, at: ContinuousClock.Instant)?>(nil)
    /// So long such a failure counts, though a write as small as that of ``state()`` goes through.
    private static let refusalMemory: Duration = .seconds(3)

    /// Opens the store in `directory`, makes directory and database if there are none, and migrates.
    ///
    /// - Parameters:
    ///   - holder: who a second gateway is told has the store.
    ///   - metrics: where the gauges of the queue of writes go; the process' own when `nil`.
    /// - Throws: ``StoreError`` `.unavailable`, `.inUse` or `.newerSchema`, with the path in the text.
    package init(
        directory: String, role: Role, holder: GatewayHolder? = nil, metrics: (any MetricsFactory)? = nil,
        logger: Logger
    ) throws(StoreError) {
        let directory = StoreDirectory(path: directory)
        try directory.prepare()
        let lock: GatewayLock? =
            switch role {
            case .gateway: try Self.gatewayLock(directory)
            case .command: nil
            }
        if let holder { lock?.note(holder) }
        do {
            pool = try Self.open(directory)
            try Self.migrate(pool, directory, isLocked: lock != nil)
            lookups = ReadBatcher(pool: pool, metrics: metrics ?? MetricsSystem.factory)
            earlierWorkers = lock == nil ? 0 : try pool.read { db in try db.number("SELECT max(id) FROM worker") ?? 0 }
            lastRecordedAt = try pool.read { db in try Self.lastRecordedAt(db) }
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
        self.directory = directory
        self.logger = logger
        logger.debug("Store opened", metadata: ["store.path": "\(directory.databasePath)"])
    }

    /// Changes what a second gateway is told, once more is known.
    package func note(_ holder: GatewayHolder) {
        lock?.note(holder)
    }

    /// Whether a write goes through right now, and what is wrong with the store.
    ///
    /// A full disk or a read-only file system is found by the write, and forgotten as soon as one goes through. Damage is
    /// remembered from the reads and writes that met it, while other parts may work. A disk that failed to read can look
    /// like damage: so what is remembered is checked against the whole file, beside the callers, and forgotten if it is
    /// sound.
    package func state() async -> StoreState {
        var state = StoreState()
        do {
            try await write(.probe) { db in
                try db.execute(sql: "UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
            }
        } catch {
            logger.warning("Store is not writable", metadata: ["error": "\(error.message)"])
            state.isWritable = false
            if !error.isDamage { state.problems.append(error.message) }
        }
        if state.isWritable, let refusal = refusal.withLock({ $0 }), .now - refusal.at < Self.refusalMemory {
            state.isWritable = false
            state.problems.append(refusal.text)
        }
        if let text = damage.withLock({ $0.text }) {
            state.problems.append(text)
            examine()
        }
        return state
    }

    /// Reads the whole file in search of the damage, unless that is going on or was done a moment ago.
    ///
    /// A task without a parent: whoever asks for the state has a deadline, and the file may be large.
    private func examine() {
        let now = ContinuousClock.now
        let isDue = damage.withLock { damage in
            guard !damage.isExamined, damage.examinedAt.map({ now - $0 > Self.examinationInterval }) ?? true else {
                return false
            }
            damage.isExamined = true
            return true
        }
        guard isDue else { return }
        Task {
            let isSound: Bool
            do throws(StoreError) {
                isSound = try await read { db in try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok" }
            } catch {
                isSound = false
            }
            damage.withLock { $0 = Damage(text: isSound ? nil : $0.text, examinedAt: .now) }
            if isSound { logger.notice("Store is sound") }
        }
    }

    /// Keeps in mind that the database is damaged, and says so once.
    private func took(_ error: StoreError) -> StoreError {
        guard error.isDamage else { return error }
        let text = "The file \(path) is damaged (\(error.message)); other data may still be served. Restore a backup."
        let isNew = damage.withLock { damage in
            defer { damage.text = text }
            return damage.text == nil
        }
        if isNew { logger.critical("Store is damaged", metadata: ["error": "\(text)"]) }
        return error
    }

    /// Whether this is a command's, and a gateway has the store open now.
    package var isBesideGateway: Bool { lock == nil && GatewayLock.isHeld(in: directory) }

    /// Finishes running work and closes the database. Idempotent.
    package func close() throws(StoreError) {
        do {
            try pool.close()
        } catch {
            throw StoreError(database: error)
        }
        lock?.release()
    }

    /// Runs a write in one of the next group commits; returns after the commit, when it is on the disk.
    ///
    /// - Parameters:
    ///   - kind: whose places in the queue it takes.
    ///   - rows: about how many rows it changes: a group is limited by these.
    func write<Value: Sendable>(
        _ kind: WriteKind = .change, rows: Int = 1, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await committer.write(kind, rows: rows, body)
        } catch {
            let error = took(StoreError(database: error))
            if error.isOfWholeStore, error.code != .busy { refusal.withLock { $0 = (error.message, .now) } }
            throw error
        }
    }

    /// Looks a row up by an index, in one snapshot with whatever else is looked up at this moment.
    func lookUp<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await lookups.read(body)
        } catch {
            throw took(StoreError(database: error))
        }
    }

    /// Reads in one snapshot, beside the writer.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw took(StoreError(database: error))
        }
    }
}

extension SQLiteStore {
    private static func lastRecordedAt(_ db: Database) throws -> Timestamp? {
        let time = try db.number("SELECT value FROM meta WHERE name = 'ledger_clock'") ?? 0
        return time > 0 ? Timestamp(milliseconds: time) : nil
    }

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

    private static func open(_ directory: StoreDirectory) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "store"
        configuration.foreignKeysEnabled = true
        configuration.journalMode = .wal
        configuration.busyMode = .callback(Self.waitForTurn)
        configuration.maximumReaderCount = readerLimit
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
        let holder = GatewayLock.holder(of: directory).map { " (\($0))" } ?? ""
        throw StoreError(
            .inUse,
            "Another gateway\(holder) has the store in \(directory.path) open; stop it first, or give this one a data "
                + "directory of its own.")
    }
}
