package import CoreMetrics
import GRDB
package import Logging
package import PushModel
package import SQLStorage
package import Store

/// The embedded store: a store over a SQLite database in a directory.
package typealias SQLiteStore = SQLStore

extension SQLStore {
    /// Opens the store in `directory`, makes directory and database if there are none, and migrates. Blocks its thread: on
    /// files, and up to some seconds while another process does the same.
    ///
    /// - Parameters:
    ///   - holder: who a second gateway is told has the store.
    ///   - leaseTime: by which leases are counted: steady, and the same for all processes that share the store. `nil`: from
    ///     the machine's time of now on by its monotonic clock; one gateway alone counts leases.
    ///   - metrics: where the gauges of the queue of writes go; the process' own when `nil`.
    /// - Throws: ``StoreError`` `.unavailable`, `.inUse` or `.newerSchema`, with the path in the text.
    package convenience init(
        directory: String, role: StoreRole, holder: GatewayHolder? = nil,
        leaseTime: (@Sendable () -> Timestamp)? = nil, metrics: (any MetricsFactory)? = nil, logger: Logger
    ) throws(StoreError) {
        do {
            let engine = try SQLiteEngine(
                directory: directory, role: role, holder: holder, leaseTime: leaseTime, logger: logger)
            try self.init(engine, metrics: metrics, logger: logger)
        } catch let error as StoreError {
            guard error.underlying is DatabaseError else { throw error }
            throw Self.opening(directory, failed: error)
        } catch {
            throw Self.opening(directory, failed: StoreError(database: error))
        }
    }

    private static func opening(_ directory: String, failed reason: StoreError) -> StoreError {
        StoreError(
            .unavailable, "The store in \(directory) can't be opened. \(reason.message)", mayPass: reason.mayPass,
            underlying: reason.underlying)
    }

    /// The file of the database of a store in `directory`.
    package static func file(in directory: String) -> String { StoreDirectory(path: directory).databasePath }
}
