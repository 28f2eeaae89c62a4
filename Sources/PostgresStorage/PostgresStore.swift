package import CoreMetrics
package import Logging
import PostgreSQLClient
package import PushModel
package import SQLStorage
package import Store

/// Opens stores on PostgreSQL.
package enum PostgresStore {
    /// Opens the store of a database, and makes its tables if there are none. Blocks its thread.
    ///
    /// - Parameters:
    ///   - url: `postgresql://…`.
    ///   - passwordFile: a file with the password; `nil`: it is in the URL, or wherever libpq looks for it.
    ///   - leaseTime: by which leases are counted instead of the database's clock: for tests, which turn it.
    ///   - answerTimeout: how long an answer of the server may take; `nil`: a little longer than a statement may.
    ///   - metrics: where the gauges of the queues go; the process' own when `nil`.
    /// - Throws: ``StoreError`` `.unavailable` or `.newerSchema`, without the URL in its text.
    package static func open(
        url: String, passwordFile: String? = nil, role: StoreRole, leaseTime: (@Sendable () -> Timestamp)? = nil,
        answerTimeout: Duration? = nil, metrics: (any MetricsFactory)? = nil, logger: Logger
    ) throws(StoreError) -> SQLStore {
        var configuration = try configuration(url, passwordFile)
        if let answerTimeout { configuration.answerTimeout = answerTimeout }
        let engine = try PostgresEngine(configuration, role: role, leaseTime: leaseTime, logger: logger)
        return try SQLStore(engine, metrics: metrics, logger: logger)
    }

    /// The gateways that share the database of a store, of which this process is to be one.
    package static func nodes(
        of store: SQLStore, url: String, passwordFile: String? = nil, logger: Logger
    ) throws(StoreError) -> PostgresNodes {
        let configuration = try configuration(url, passwordFile)
        return PostgresNodes(of: store, configuration, logger: logger)
    }

    private static func configuration(
        _ url: String, _ passwordFile: String?
    ) throws(StoreError) -> PostgreSQLConfiguration {
        do throws(PostgreSQLError) {
            if let passwordFile { return try PostgreSQLConfiguration(url: url, passwordFile: passwordFile) }
            return try PostgreSQLConfiguration(url: url)
        } catch {
            throw StoreError(database: error)
        }
    }
}
