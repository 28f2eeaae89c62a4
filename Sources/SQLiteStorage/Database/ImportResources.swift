import GRDB
import Logging
import Store
import Synchronization

/// What the connection that writes has more of while registrations are imported: pages in memory, since the indexes over
/// FIDs and addresses are written in random order, and, in a command, a connection that copies the log beside it. A
/// gateway has one anyway.
final class ImportResources: Sendable {
    /// The page cache: it holds the indexes of two million registrations.
    static let cacheBytes = 256 << 20
    /// The log is copied when it has so many pages: 64 MiB. A page that several chunks change is copied once.
    static let copyPages = 16_384
    /// With so many pages the writer waits for the copy, so that the log begins anew: 256 MiB.
    private static let catchUpPages = 65_536

    private struct State {
        var isRunning = false
        var checkpointer: Checkpointer?
        /// The cache and the length of the log as they were.
        var former: (cacheSize: Int, checkpointPages: Int)?
    }

    /// Of the database; `nil`: another connection copies the log.
    private let checkpointedPath: String?
    private let copyPages: Int
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: of the database; `nil`: the store has a connection that copies the log.
    ///   - copyPages: so many pages are copied at a time.
    init(checkpointing path: String?, copyPages: Int = ImportResources.copyPages, logger: Logger) {
        checkpointedPath = path
        self.copyPages = copyPages
        self.logger = logger
    }

    /// Notes that an import runs.
    ///
    /// - Returns: whether ``prepare(_:)`` is to be called: it ran not yet.
    func begin() throws(StoreError) -> Bool {
        do {
            return try state.withLock { state in
                guard !state.isRunning else { return false }
                state.checkpointer = try state.checkpointer ?? makeCheckpointer()
                state.isRunning = true
                return true
            }
        } catch {
            throw StoreError(database: error)
        }
    }

    private func makeCheckpointer() throws -> Checkpointer? {
        guard let checkpointedPath else { return nil }
        return try Checkpointer(
            path: checkpointedPath, configuration: SQLiteEngine.configuration, pages: copyPages,
            catchUpPages: Self.catchUpPages, logger: logger)
    }

    /// Changes the connection that writes.
    func prepare(_ db: Database) throws {
        let cacheSize = try Int.fetchOne(db, sql: "PRAGMA cache_size") ?? -2000
        let checkpointPages = try Int.fetchOne(db, sql: "PRAGMA wal_autocheckpoint") ?? 1000
        try db.execute(sql: "PRAGMA cache_size = -\(Self.cacheBytes >> 10)")
        if checkpointedPath != nil { try db.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
        state.withLock { $0.former = $0.former ?? (cacheSize, checkpointPages) }
    }

    /// Gives the connection back what it had, unless no import runs. A copy under way ends by itself.
    func end(_ db: Database) throws {
        guard let former = state.withLock({ $0.former }) else { return }
        try db.execute(sql: "PRAGMA cache_size = \(former.cacheSize)")
        if checkpointedPath != nil { try db.execute(sql: "PRAGMA wal_autocheckpoint = \(former.checkpointPages)") }
        state.withLock { $0 = State(checkpointer: $0.checkpointer) }
    }

    /// Whether ``noteCommit(_:)`` is to be called after each chunk.
    var copiesLog: Bool { state.withLock { $0.checkpointer != nil } }

    /// Lets a chunk that was committed be copied; on the connection that writes, between its transactions.
    func noteCommit(_ writer: Database) {
        guard let checkpointer = state.withLock({ $0.checkpointer }) else { return }
        checkpointer.noteCommit(pages: WrittenPages.take(writer))
        checkpointer.catchUp(writer)
    }

    /// Waits for a copy under way and ends the connection.
    func close() throws {
        try state.withLock { $0.checkpointer }?.database.close()
    }
}
