import Dispatch
package import Logging
package import PostgreSQLClient
package import PushModel
package import SQLStorage
package import Store
import Synchronization

/// The database of a store on a PostgreSQL server, which any number of gateways share.
///
/// Writes of all of them go one at a time: each transaction begins with one advisory lock. So numbers grow in the order of
/// commits, and a step that has the lock sees all that was committed before. Reads of several statements have one snapshot.
package final class PostgresEngine: StorageEngine {
    /// The key of the advisory lock of all writes: "herald" in ASCII. Others of a database that is shared with other
    /// software are theirs.
    package static let writeLock: Int64 = 0x6865_7261_6c64

    let pool: PostgreSQLPool
    private let configuration: PostgreSQLConfiguration
    let logger: Logger
    private let health = PostgresHealth()
    let commits = CommitCount()
    /// Takes the place of the database's clock for leases.
    private let clock: (@Sendable () -> Timestamp)?
    private let role: StoreRole
    /// Partitions of the ledger that held nothing when it was looked last.
    let emptiedPartitions = Mutex<Set<LedgerPartition>>([])
    /// A day that the database's clock told and that seems too far ahead.
    let doubtedDay = Mutex<Int64?>(nil)
    /// Whether a gateway lived when an import looked last.
    private let hasNodes = Atomic<Bool>(true)

    /// Connections that read at the same time: look-ups, claims and audiences take at most two each, the rest is for lists
    /// and reports.
    package static let standardReaders = 8

    /// Opens the database and makes its tables if there are none. Blocks its thread.
    ///
    /// - Parameters:
    ///   - leaseTime: by which leases are counted instead of the database's clock: for tests, which turn it.
    ///   - readers: connections that read.
    /// - Throws: ``StoreError`` `.unavailable` or `.newerSchema`.
    package init(
        _ configuration: PostgreSQLConfiguration, role: StoreRole, readers: Int = PostgresEngine.standardReaders,
        leaseTime: (@Sendable () -> Timestamp)? = nil, logger: Logger
    ) throws(StoreError) {
        var configuration = configuration
        configuration.translate = { StatementText.postgreSQL($0) }
        self.configuration = configuration
        self.role = role
        self.logger = logger
        clock = leaseTime
        pool = PostgreSQLPool(configuration, readers: readers, logger: logger)
        do {
            let session = PostgreSQLSession(configuration, logger: logger)
            defer { session.close() }
            try SchemaMigrator().migrate(session, lock: Self.writeLock)
        } catch {
            throw StoreError(database: error)
        }
        logger.debug("Store opened", metadata: ["database": "\(configuration.text)"])
    }

    package var isBesideGateway: Bool { role == .command }

    package var earlierWorkers: Int64 { 0 }

    // MARK: Files

    /// Nothing here sees to the server's files, so none of them is known to be clean.
    package func isCleaningDue(_ db: any Database) throws -> Bool { true }

    package func cleanFiles() async throws -> CleaningObstacle? { .server }

    // MARK: Reading and writing

    package func readAtOnce<Value>(_ body: (any Database) throws -> Value) throws -> Value {
        let session = PostgreSQLSession(configuration, logger: logger)
        defer { session.close() }
        return try Self.read(session, body)
    }

    private static func read<Value>(
        _ session: PostgreSQLSession, _ body: (any Database) throws -> Value
    ) throws -> Value {
        var result: Result<Value, any Error>?
        try session.inSnapshot { result = Result { try body(PostgresDatabase(session)) } }
        guard let result else { throw StoreError(.failed, "A read did not run.") }
        return try result.get()
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws -> Value {
        try await withReader { session in try Self.read(session, body) }
    }

    /// How long an answer about whole tables may take.
    private static let wholeTableTimeout: Duration = .seconds(24 * 3600)
    /// What keeps the plans of all other statements at indexes, and their time short (``PostgreSQLConfiguration``).
    private static let wholeTableSettings: KeyValuePairs = [
        "statement_timeout": "0", "enable_seqscan": "on", "enable_hashjoin": "on", "enable_mergejoin": "on",
    ]

    /// On a connection of its own, so that no list or claim waits for it.
    package func readWholeTables<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws -> Value {
        var configuration = configuration
        configuration.answerTimeout = Self.wholeTableTimeout
        return try await withCheckedThrowingContinuation { [configuration, logger] continuation in
            DispatchQueue.global().async {
                let session = PostgreSQLSession(configuration, logger: logger)
                defer { session.close() }
                continuation.resume(
                    with: Result {
                        try Self.read(session) { db in
                            for (name, value) in Self.wholeTableSettings {
                                try session.execute("SET LOCAL \(name) = \(value)")
                            }
                            return try body(db)
                        }
                    })
            }
        }
    }

    /// BEGIN and COMMIT would make three statements of one.
    package func readOnce<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws -> Value {
        try await withReader { session in
            try session.connect()
            return try body(PostgresDatabase(session))
        }
    }

    /// Reads, and once more on another connection when the first one is lost.
    func withReader<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLSession) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            pool.withReader { session in
                continuation.resume(
                    with: Result {
                        let session = try session.get()
                        do {
                            return try body(session)
                        } catch let error as PostgreSQLError where error.kind == .disconnected {
                            return try body(session)
                        }
                    })
            }
        }
    }

    package func withReader(_ body: @escaping @Sendable (Result<any ReadConnection, any Error>) -> Void) {
        pool.withReader { session in body(Result { PostgresReader(session: try session.get()) }) }
    }

    package func withWriter(_ body: @escaping @Sendable (Result<any WriteConnection, any Error>) -> Void) {
        pool.withWriter { [commits] session in
            body(Result { PostgresWriter(session: try session.get(), commits: commits) })
        }
    }

    private static let time = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"

    /// No lease is over in the first minute of a server: after a crash it recovers first, and workers renew theirs when it is
    /// back. What they sent meanwhile is recorded, and not sent by others again.
    private static let renewalsEnd = """
        SELECT CAST(extract(epoch FROM CASE WHEN clock_timestamp() < pg_postmaster_start_time() + interval '60 s'
            THEN timestamptz 'epoch' ELSE clock_timestamp() END) * 1000 AS bigint)
        """

    package func endOfLeases(_ db: any Database) throws -> Timestamp { try time(Self.renewalsEnd, db) }

    package func leaseTime(_ db: any Database) throws -> Timestamp { try time(Self.time, db) }

    private func time(_ sql: String, _ db: any Database) throws -> Timestamp {
        if let clock { return clock() }
        let statement = try db.statement(sql)
        guard try statement.next() else { throw StoreError(.failed, "The database told no time.") }
        defer { statement.reset() }
        return Timestamp(milliseconds: statement.number(0))
    }

    package func otherCommits() async throws -> Int64 {
        try await readOnce { [commits] db in try commits.others(db) }
    }

    // MARK: Condition

    package func note(_ error: any Error, isWrite: Bool) -> StoreError {
        health.note(StoreError(database: error), isWrite: isWrite)
    }

    package func state(_ probe: StoreError?) -> StoreState { health.state(probe) }

    private static let blocksWithoutMessage = """
        SELECT count(*) FROM ledger_block b
        WHERE b.message IS NOT NULL AND NOT EXISTS (SELECT 1 FROM message m WHERE m.seq = b.message)
        """

    /// The server holds the keys between its tables but one, and looks after its files.
    package func examine() async throws -> [(text: String, count: Int)] {
        let count = try await readWholeTables { db in
            let statement = try db.statement(Self.blocksWithoutMessage)
            defer { statement.reset() }
            return try statement.next() ? Int(statement.number(0)) : 0
        }
        return [("ledger blocks of messages that are not there", count)]
    }

    /// Any number of gateways may have the database.
    package func note(_ holder: GatewayHolder) {}

    package func close() throws { pool.close() }

    // MARK: Imports

    /// Where a gateway lives, all of them wait for a chunk, and come to their turn between two. One that starts waits for a few
    /// that are as long as they were without it.
    package var importPace: ImportPace {
        hasNodes.load(ordering: .relaxed)
            ? ImportPace(chunkTime: .milliseconds(50), rest: .milliseconds(20))
            : ImportPace(chunkTime: .seconds(1), rest: .zero)
    }

    /// What can't be told does not undo a chunk that is committed: the next one is as long as beside a gateway.
    package func noteImport() async {
        var hasNodes = true
        do {
            hasNodes = try await readOnce { [self] db in try NodeTable(db: db).hasLiving(at: leaseTime(db)) }
        } catch {
            logger.debug("whether a gateway lives is not known", metadata: ["error": "\(error)"])
        }
        self.hasNodes.store(hasNodes, ordering: .relaxed)
    }
}
