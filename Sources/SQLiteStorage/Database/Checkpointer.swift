import GRDB
import Logging
import Synchronization

/// Copies the log into the database on a connection of its own, so that no commit waits for it (sqlite.org/wal.html#ckpt).
///
/// A checkpoint beside the writer does not hold it up, but it ends behind it, and SQLite begins the log anew only when
/// nothing is left to copy. Between commits that leave a pause this comes by itself. Under steady load the log grows to
/// ``catchUpPages``; then the writer copies the rest, which is little, between two commits.
final class Checkpointer: Sendable {
    /// About so many pages are in the log when they are copied, SQLite's own figure.
    static let pages = 1000
    /// With so many pages in the log the writer sees to it that it begins anew: 16 MiB.
    static let catchUpPages = 4000
    private static let mostCommits = 1000

    private struct State {
        var commits = 0
        /// After so many commits the log is copied.
        var threshold = 100
        /// The pages that were in the log when it was copied last.
        var logPages = 0
        var isRunning = false
        var isBehind = false
    }

    private let database: DatabaseQueue
    private let logger: Logger
    private let state = Mutex(State())

    /// Opens the connection.
    init(path: String, configuration: Configuration, logger: Logger) throws {
        database = try DatabaseQueue(path: path, configuration: configuration)
        self.logger = logger
    }

    /// Takes note of a commit, and begins to copy when there are enough.
    func noteCommit() {
        let isDue = state.withLock { state in
            state.commits += 1
            guard !state.isRunning, state.commits >= state.threshold else { return false }
            state.isRunning = true
            return true
        }
        guard isDue else { return }
        database.asyncWriteWithoutTransaction { db in self.copy(db) }
    }

    /// Copies the rest of a log that grew long, on the connection that writes and between its transactions; mostly there
    /// is nothing to do.
    func catchUp(_ writer: Database) {
        guard state.withLock({ $0.isBehind && !$0.isRunning }) else { return }
        do {
            _ = try Self.checkpoint(writer)
        } catch {
            tell(error)
        }
        state.withLock { $0.isBehind = false }
    }

    /// Waits for a copy under way.
    func finishCopy() {
        database.writeWithoutTransaction { _ in }
    }

    /// Waits for a copy under way and closes the connection.
    func close() throws {
        try database.close()
    }

    private func copy(_ db: Database) {
        // Those that come from here on are for the next time.
        let commits = state.withLock { state in
            defer { state.commits = 0 }
            return state.commits
        }
        var pages: Int?
        do {
            pages = try Self.checkpoint(db)
        } catch {
            tell(error)
        }
        state.withLock { state in
            state.isRunning = false
            guard let pages else { return }
            let new = pages >= state.logPages ? pages - state.logPages : pages
            state.logPages = pages
            state.threshold = min(max(1, Self.pages * commits / max(1, new)), Self.mostCommits)
            state.isBehind = pages >= Self.catchUpPages
        }
    }

    /// - Returns: the pages in the log; `nil`: another connection copies just now.
    private static func checkpoint(_ db: Database) throws -> Int? {
        // Busy, pages in the log, pages that are copied.
        let row = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(PASSIVE)")
        guard let row, row[0] == 0 else { return nil }
        return row[1]
    }

    private func tell(_ error: any Error) {
        // The log keeps everything: the next time copies what this one left.
        logger.warning("the store's log can't be copied into the database", metadata: ["error": "\(error)"])
    }
}
