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

    /// Opens the store in `directory`, makes directory and database if there are none, and migrates.
    ///
    /// - Throws: ``StoreError`` `.unavailable`, `.inUse` or `.newerSchema`, with the path in the text.
    public init(directory: String, role: Role, logger: Logger) throws(StoreError) {
        fatalError("pending")
    }

    /// Whether a write goes through right now.
    public func isWritable() async -> Bool {
        fatalError("pending")
    }

    /// Finishes running work and closes the database. Idempotent.
    public func close() throws(StoreError) {
        fatalError("pending")
    }
}
