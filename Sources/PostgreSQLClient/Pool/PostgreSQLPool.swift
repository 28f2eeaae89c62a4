package import Logging

/// What is done with a session on its own thread, or why there is none. It may wait for the database as long as it needs.
package typealias SessionWork = @Sendable (Result<PostgreSQLSession, PostgreSQLError>) -> Void

/// The connections of a process to a database: one that writes, and several that read.
///
/// Each has a thread of its own, so that those who wait for an answer hold up no other work of the process. Connections are
/// made when they are needed. Where the server has none for the one that writes, one that reads gives up its own as long
/// as there are others. ``close()`` ends all.
package final class PostgreSQLPool: Sendable {
    private let writer: SessionThreads
    private let readers: SessionThreads

    /// The most calls that may wait for a connection that reads, and for the one that writes.
    package static let queueLimit = 20_000

    /// Prepares a pool; nothing is connected.
    package init(_ configuration: PostgreSQLConfiguration, readers: Int, logger: Logger) {
        let place = WriterPlace()
        writer = SessionThreads(
            named: "pg-writer", count: 1, limit: Self.queueLimit, configuration, place, isWriter: true, logger: logger)
        self.readers = SessionThreads(
            named: "pg-reader", count: max(1, readers), limit: Self.queueLimit, configuration, place, isWriter: false,
            logger: logger)
    }

    /// Gives the session that writes, after those who asked before.
    package func withWriter(_ work: @escaping SessionWork) { writer.append(work) }

    /// Gives a session that reads, as soon as one is free.
    package func withReader(_ work: @escaping SessionWork) { readers.append(work) }

    /// How many calls wait for a session that reads, and for the one that writes.
    package var waiting: (readers: Int, writer: Int) { (readers.waiting, writer.waiting) }

    /// Does what waits and closes all connections. Waits for that. Idempotent.
    package func close() {
        readers.close()
        writer.close()
    }
}
