package import PushModel
package import Store

/// What a database has to do for the steps of the store: connections, transactions and what only it knows.
///
/// Errors of its own are thrown as they are; ``note(_:isWrite:)`` says what they mean.
package protocol StorageEngine: AnyObject, Sendable {
    /// Whether this is a command's, and a gateway has the database open now.
    var isBesideGateway: Bool { get }

    /// Workers up to this number belong to gateways that ended before this one opened the database; 0 where others may
    /// run: their workers end with their leases.
    var earlierWorkers: Int64 { get }

    // MARK: Reading and writing

    /// Reads in one snapshot while the thread waits: when the store is opened.
    func readAtOnce<Value>(_ body: (any Database) throws -> Value) throws -> Value

    /// Reads in one snapshot, beside the writer.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any Database) throws -> Value) async throws -> Value

    /// Reads in one snapshot as ``read(_:)``, for as long as it takes: for statements that go through whole tables.
    func readWholeTables<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws -> Value

    /// Reads with one statement, which is a snapshot by itself: for who asks often.
    func readOnce<Value: Sendable>(_ body: @escaping @Sendable (any Database) throws -> Value) async throws -> Value

    /// Gives a connection that reads to `body`, on the connection's own thread, as soon as one is free; or why there is
    /// none. Called exactly once for each call.
    func withReader(_ body: @escaping @Sendable (Result<any ReadConnection, any Error>) -> Void)

    /// Gives the connection that writes to `body`, on the connection's own thread, after those who asked before; or why
    /// there is none. Called exactly once for each call.
    func withWriter(_ body: @escaping @Sendable (Result<any WriteConnection, any Error>) -> Void)

    /// The time by which leases are counted: steady, and the same for all that share the database.
    ///
    /// - Parameter db: the transaction that begins, renews or looks at a lease.
    func leaseTime(_ db: any Database) throws -> Timestamp

    /// Leases that ended before this are over for those who take over: the time of now, or an earlier one as long as
    /// workers that live had no chance to renew theirs.
    func endOfLeases(_ db: any Database) throws -> Timestamp

    /// A number that changes when another process has committed something.
    func otherCommits() async throws -> Int64

    // MARK: Condition

    /// What an error means to the store's callers. Remembers what it says of the whole database.
    func note(_ error: any Error, isWrite: Bool) -> StoreError

    /// What is wrong with the database.
    ///
    /// - Parameter probe: what a small write failed with right now; `nil`: it went through.
    func state(_ probe: StoreError?) -> StoreState

    /// Searches the database for damage that no step can find: in its files, and between its tables and their keys.
    ///
    /// - Returns: what was found, and how often.
    func examine() async throws -> [(text: String, count: Int)]

    /// Changes what a second gateway is told, once more is known.
    func note(_ holder: GatewayHolder)

    /// Finishes running work and closes all connections. Idempotent.
    func close() throws

    // MARK: Files

    /// Notes in its transaction that something was erased, of which files may keep a copy.
    func noteErasure(_ db: any Database) throws

    /// Whether something was erased since files were cleaned last.
    func isCleaningDue(_ db: any Database) throws -> Bool

    /// Whether files may hold what was removed, after an attempt to clean them.
    var hasUncleanFiles: Bool { get }

    /// Sees to it that no file holds what was removed.
    ///
    /// - Returns: what was in the way; `nil`: nothing.
    func cleanFiles() async throws -> CleaningObstacle?

    /// How many pages the files could do without.
    func spareFilePages(_ db: any Database) throws -> Int

    /// Gives pages back to the file system, in a write transaction.
    func releaseFilePages(_ count: Int, _ db: any Database) throws

    /// Where the ledger is kept by days: makes room for the next ones, and removes those whose blocks are all gone.
    ///
    /// - Parameter longest: the longest that a project keeps its ledger, in days.
    /// - Returns: how many parts of the ledger went.
    func keepLedgerDays(longest: Int) async throws -> Int

    // MARK: Imports

    /// How an import of registrations takes turns with a gateway.
    var importPace: ImportPace { get }

    /// A chunk of an import is about to be written.
    ///
    /// - Returns: whether its transaction has to begin with ``prepareImport(_:)``.
    func beginImport() throws -> Bool

    /// Gives the connection that writes what it has more of during an import.
    func prepareImport(_ db: any Database) throws

    /// A chunk of an import was committed.
    func noteImport() async throws

    /// The import has ended: takes back what ``prepareImport(_:)`` gave.
    func endImport(_ db: any Database) throws
}

/// An engine whose database server looks after its files by itself.
extension StorageEngine {
    package func endOfLeases(_ db: any Database) throws -> Timestamp { try leaseTime(db) }

    package func readOnce<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws -> Value {
        try await read(body)
    }

    package func readWholeTables<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws -> Value {
        try await read(body)
    }

    package func noteErasure(_ db: any Database) throws {}

    package func isCleaningDue(_ db: any Database) throws -> Bool { false }

    package var hasUncleanFiles: Bool { false }

    package func cleanFiles() async throws -> CleaningObstacle? { nil }

    package func spareFilePages(_ db: any Database) throws -> Int { 0 }

    package func releaseFilePages(_ count: Int, _ db: any Database) throws {}

    package func keepLedgerDays(longest: Int) async throws -> Int { 0 }

    package func beginImport() throws -> Bool { false }

    package func prepareImport(_ db: any Database) throws {}

    package func noteImport() async throws {}

    package func endImport(_ db: any Database) throws {}
}

/// A connection that reads.
package protocol ReadConnection {
    /// Runs `body` in one snapshot.
    ///
    /// - Throws: only when `body` was not run.
    func inSnapshot(_ body: (any Database) -> Void) throws
}

/// The connection that writes.
package protocol WriteConnection {
    /// Runs `body` in a transaction. When this returns `true`, it is committed and on the disk.
    ///
    /// - Parameter body: says whether to commit; after an error or `false` nothing is changed.
    /// - Returns: what `body` said.
    /// - Throws: the error of `body`, or why the transaction could not begin or be committed. Whether a commit whose
    ///   answer was lost took place is found out before.
    func inTransaction(_ body: (any Database) throws -> Bool) throws -> Bool

    /// As ``inTransaction(_:)``, for what `body` asked for ahead and nothing in the transaction depends on: an engine may send
    /// that with the commit, and save a wait.
    ///
    /// - Parameters:
    ///   - body: may run again: what it asked for before is given up first then.
    ///   - read: reads what `body` asked for.
    func inTransaction(
        _ body: (any Database) throws -> Bool, thenReading read: () throws -> Void
    ) throws -> TransactionEnd

    /// Called after the writes of a group were answered: the time for what need not be waited for.
    func afterAnswers()
}

extension WriteConnection {
    package func inTransaction(
        _ body: (any Database) throws -> Bool, thenReading read: () throws -> Void
    ) throws -> TransactionEnd {
        let isCommitted = try inTransaction { db in
            guard try body(db) else { return false }
            try read()
            return true
        }
        return isCommitted ? .committed(isRead: true) : .undone
    }
}

/// What became of a transaction.
package enum TransactionEnd: Sendable {
    /// It is committed. What was asked for in it was read, unless the connection was lost meanwhile.
    case committed(isRead: Bool)
    /// Nothing was changed: its body said so, or one of its statements failed.
    case undone
}
