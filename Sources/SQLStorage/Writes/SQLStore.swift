package import CoreMetrics
package import Logging
package import PushModel
package import Store
import Synchronization

/// The store over a database: all its steps, whatever the database is.
///
/// Safe to share; writes go one at a time, reads beside them. ``close()`` ends it.
package final class SQLStore: Sendable {
    package let engine: any StorageEngine
    let logger: Logger
    let committer: GroupCommitter
    let registrations: RegistrationCache
    let changeSource = ChangeSource()
    private let lookups: ReadBatcher
    /// Steps of counting audiences that may run at the same time.
    let audiences = AsyncSemaphore(places: 2)
    /// Sets times back one at a time.
    let clamping = AsyncSemaphore(places: 1)

    /// The newest time of recording in the ledger when the store was opened; `nil` when there was none. The wall clock
    /// may have been set back since.
    package let lastRecordedAt: Timestamp?
    /// See ``LinkStore/linkVersions``.
    let linkClock = LinkClock()
    /// What the store ended by itself and was not asked for yet.
    let ownEnds = Mutex(OwnEnds())
    /// Where the removals of what is out of date stand.
    let removals = Mutex<[RetentionPart: RemovalPass]>([:])

    /// Opens the store over a database that has its tables. Blocks its thread.
    ///
    /// - Parameter metrics: where the gauges of the queues go; the process' own when `nil`.
    /// - Throws: what the engine calls the error.
    package init(
        _ engine: any StorageEngine, metrics: (any MetricsFactory)? = nil, logger: Logger
    ) throws(StoreError) {
        self.engine = engine
        self.logger = logger
        lookups = ReadBatcher(engine: engine, metrics: metrics ?? MetricsSystem.factory)
        do {
            lastRecordedAt = try engine.readAtOnce { db in try LedgerClock(db: db).lastRecordedAt() }
            registrations = RegistrationCache(
                number: try engine.readAtOnce { db in try RegistrationChanges(db: db).number() })
            committer = try GroupCommitter(
                engine: engine, source: changeSource, registrations: registrations,
                metrics: metrics ?? MetricsSystem.factory)
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }

    /// Changes what a second gateway is told, once more is known.
    package func note(_ holder: GatewayHolder) { engine.note(holder) }

    /// Whether this is a command's, and a gateway has the store open now.
    package var isBesideGateway: Bool { engine.isBesideGateway }

    /// How an import takes turns now: a gateway may start or end during an import.
    package var importPace: ImportPace { engine.importPace }

    package var hasUncleanFiles: Bool { engine.hasUncleanFiles }

    /// Sees to it that no file holds what was removed.
    package func cleanFiles() async throws(StoreError) -> CleaningObstacle? {
        do {
            return try await engine.cleanFiles()
        } catch {
            throw engine.note(error, isWrite: true)
        }
    }

    /// Finishes running work and closes the database. Idempotent.
    package func close() throws(StoreError) {
        do {
            try engine.close()
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }

    /// Runs a write in one of the next group commits; returns after the commit, when it is on the disk.
    ///
    /// - Parameters:
    ///   - kind: whose places in the queue it takes.
    ///   - rows: about how many rows it changes: a group is limited by these.
    ///   - change: what others are told after it, beside events.
    func write<Value: Sendable>(
        _ kind: WriteKind = .change, rows: Int = 1, telling change: StoreChange = [],
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws(StoreError) -> Value {
        try await writeShared(kind, rows: rows, telling: change) { transaction in
            // Others of the transaction may have looked up what this one changes.
            defer { transaction.forget() }
            // It may look at them.
            try transaction.insertMessages()
            return try body(transaction.db)
        }
    }

    /// As ``write(_:rows:telling:_:)``, with what the writes of the transaction share. For accepts and settlements, which
    /// change nothing that others look up.
    ///
    /// - Parameter lookUps: what it looks up first, as far as it is known.
    func writeShared<Value: Sendable>(
        _ kind: WriteKind, rows: Int, telling change: StoreChange = [], lookingUp lookUps: LookUps = LookUps(),
        _ body: @escaping @Sendable (WriteTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            let value = try await committer.write(kind, rows: rows, lookingUp: lookUps, body)
            changeSource.post(change)
            return value
        } catch {
            throw engine.note(error, isWrite: true)
        }
    }

    /// Looks a row up by an index, in one snapshot with whatever else is looked up at this moment.
    func lookUp<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await lookups.read(body)
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }

    /// Reads in one snapshot, beside the writer.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await engine.read(body)
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }

    /// As ``read(_:)``, for as long as it takes: for statements that go through whole tables.
    func readWholeTables<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await engine.readWholeTables(body)
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }
}
