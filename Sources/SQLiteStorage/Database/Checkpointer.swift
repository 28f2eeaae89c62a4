import GRDB
import Logging
import Synchronization

/// Copies the log into the database on a connection of its own, so that no commit waits for it (sqlite.org/wal.html#ckpt).
///
/// A checkpoint beside the writer does not hold it up, but it ends behind it, and SQLite begins the log anew only when
/// nothing is left to copy. Between commits that leave a pause this comes by itself. Under steady load the log grows to
/// ``catchUpPages``; then the writer copies the rest, which is little, between two commits. Where commits come faster than
/// they are copied there is always a copy under way: at ``waitFactor`` times as many pages the writer waits for its end.
final class Checkpointer: Sendable {
    /// So many new pages in the log are copied, SQLite's own figure.
    static let pages = 1000
    /// With so many pages in the log the writer sees to it that it begins anew: 16 MiB.
    static let catchUpPages = 4000

    /// The writer waits for a copy under way when the log has so many times the pages at which it copies itself.
    static let waitFactor = 4

    private struct State {
        /// Pages that came since the last copy began.
        var newPages = 0
        /// Pages in the log, or more: SQLite does not say when it begins the log anew.
        var logPages = 0
        /// With so many pages in the log the writer copies next.
        var catchUpAt: Int
        var isRunning = false

        /// A checkpoint told how many pages there are.
        mutating func note(logPages pages: Int) { logPages = pages + newPages }
    }

    let database: DatabaseQueue
    private let pages: Int
    private let catchUpPages: Int
    private let logger: Logger
    private let state: Mutex<State>

    /// Opens the connection.
    ///
    /// - Parameters:
    ///   - pages: so many new ones in the log are copied.
    ///   - catchUpPages: with so many the writer sees to it that the log begins anew.
    init(
        path: String, configuration: Configuration, pages: Int = Checkpointer.pages,
        catchUpPages: Int = Checkpointer.catchUpPages, logger: Logger
    ) throws {
        var configuration = configuration
        configuration.busyMode = .callback(Self.waitBriefly)
        database = try DatabaseQueue(path: path, configuration: configuration)
        (self.pages, self.catchUpPages) = (pages, catchUpPages)
        self.logger = logger
        state = Mutex(State(catchUpAt: catchUpPages))
    }

    /// Takes note of a commit, and begins to copy when there is enough.
    ///
    /// - Parameter pages: how many it wrote to the log.
    func noteCommit(pages: Int) {
        let isDue = state.withLock { state in
            state.newPages += pages
            state.logPages += pages
            guard !state.isRunning, state.newPages >= self.pages else { return false }
            state.isRunning = true
            return true
        }
        guard isDue else { return }
        database.asyncWriteWithoutTransaction { db in self.copy(db) }
    }

    /// Copies the rest of a log that grew long, on the connection that writes and between its transactions; mostly there
    /// is nothing to do.
    func catchUp(_ writer: Database) {
        let (isDue, isRunning) = state.withLock { state in
            let limit = state.isRunning ? state.catchUpAt * Self.waitFactor : state.catchUpAt
            return (state.logPages >= limit, state.isRunning)
        }
        guard isDue else { return }
        if isRunning { finishCopy() }
        var log: (pages: Int, copied: Int)?
        do {
            log = try Self.checkpoint(writer)
        } catch {
            tell(error)
        }
        state.withLock { state in
            state.newPages = 0
            if let log { state.note(logPages: log.pages == log.copied ? 0 : log.pages) }
            // A reader may hold the log: not to try again with each commit.
            state.catchUpAt = max(catchUpPages, state.logPages + self.pages)
        }
    }

    /// Waits for a copy under way.
    func finishCopy() {
        database.writeWithoutTransaction { _ in }
    }

    private func copy(_ db: Database) {
        // Those that come from here on are for the next time.
        state.withLock { $0.newPages = 0 }
        var log: (pages: Int, copied: Int)?
        do {
            log = try Self.checkpoint(db)
        } catch {
            tell(error)
        }
        state.withLock { state in
            state.isRunning = false
            if let log { state.note(logPages: log.pages) }
            state.catchUpAt = catchUpPages
        }
    }

    /// - Returns: the pages in the log, and how many of them are copied; `nil`: another connection copies just now.
    static func checkpoint(_ db: Database) throws -> (pages: Int, copied: Int)? {
        let row = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(PASSIVE)")
        guard let row, row[0] == 0 else { return nil }
        return (row[1], row[2])
    }

    private func tell(_ error: any Error) {
        // The log keeps everything: the next time copies what this one left.
        logger.warning("the store's log can't be copied into the database", metadata: ["error": "\(error)"])
    }
}
