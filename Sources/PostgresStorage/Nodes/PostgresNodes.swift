import Dispatch
import Logging
import PostgreSQLClient
package import PushModel
import SQLStorage
package import Store
import Synchronization

/// The gateways that share a database, as one of them sees them.
package final class PostgresNodes: NodeStore {
    /// Numbers that change with what other nodes commit.
    private struct Seen: Equatable {
        var event: Int64
        var registrations: Int64
        var load: Int64
        var webhooks: Int64
        /// Changes when a node comes, begins to leave or leaves.
        var nodes: Int64
        /// Changes while a node hands over.
        var handingOver: Int64
        /// The newest version of the stored projects.
        var projects: Int64

        /// Whether readers of the store have something to take over.
        func differs(from before: Seen?) -> Bool {
            guard var before else { return true }
            (before.nodes, before.handingOver, before.projects) = (nodes, handingOver, projects)
            return before != self
        }
    }

    let store: SQLStore
    private let configuration: PostgreSQLConfiguration
    private let logger: Logger
    private let seen = Mutex<Seen?>(nil)
    /// What other nodes said, and who waits for it.
    private let heard: ChangeSource
    private let hearing: StoreChanges.AsyncIterator

    /// What nodes tell each other on.
    static let channel = "herald"

    private static let numbers = """
        SELECT coalesce((SELECT seq FROM numbering WHERE name = 'event'), 0),
            coalesce((SELECT max(number) FROM registration_change), 0),
            coalesce((SELECT max(change) FROM project), 0),
            coalesce((SELECT sum(revision) + count(*) FROM webhook), 0),
            (SELECT coalesce(sum(hashint8(id * 2 + is_leaving)), 0) FROM node),
            (SELECT CAST(coalesce(sum(is_leaving * heartbeat), 0) AS bigint) FROM node),
            coalesce((SELECT hashtextextended(encode(key_check, 'hex'), version) FROM project_version
                ORDER BY version DESC LIMIT 1), 0)
        """

    /// - Parameter store: the one of this gateway.
    init(of store: SQLStore, _ configuration: PostgreSQLConfiguration, logger: Logger) {
        self.store = store
        self.configuration = configuration
        self.logger = logger
        heard = ChangeSource()
        hearing = heard.changes.makeAsyncIterator()
    }

    package func enter(_ name: String, version: String, address: String?) async throws(StoreError) -> Int64 {
        try await write { db, now in
            try NodeTable(db: db).enter(name, version: version, address: address, at: now)
        }
    }

    package func beat(
        _ number: Int64, address: String?, isLeaving: Bool
    ) async throws(StoreError) -> NodeStanding {
        let standing = try await write { db, now in
            try NodeTable(db: db).beat(number, address: address, isLeaving: isLeaving, at: now)
        }
        guard let standing else {
            throw StoreError(.fenced, "Other nodes have forgotten this one, which was silent for too long.")
        }
        return standing
    }

    package func leave(_ number: Int64) async throws(StoreError) {
        try await write { db, _ in try NodeTable(db: db).leave(number) }
    }

    package func nodes() async throws(StoreError) -> [StoreNode] {
        try await read { [engine = store.engine] db in
            try NodeTable(db: db).nodes(at: try engine.leaseTime(db))
        }
    }

    package func time() async throws(StoreError) -> Timestamp {
        try await readOnce { [engine = store.engine] db in try engine.leaseTime(db) }
    }

    package func ends(of messages: [MessageID]) async throws(StoreError) -> [MessageID: RecordedEnd] {
        try await store.recordedEnds(of: messages)
    }

    package func otherCommit(atMost limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [hearing] in
                var hearing = hearing
                _ = await hearing.next()
            }
            // Cancelled when something was heard, or the caller ends.
            group.addTask { try? await ContinuousClock().sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    package func tellOthers() async {
        let listener: PostgreSQLListener
        do throws(PostgreSQLError) {
            listener = try PostgreSQLListener(configuration, channel: Self.channel, logger: logger) { [heard] _ in
                heard.post(.events)
            }
        } catch {
            // Other nodes look by themselves.
            logger.warning("other nodes can't be told at once", metadata: ["error": "\(error)"])
            return
        }
        var changes = store.changes.makeAsyncIterator()
        listener.start()
        while await changes.next() != nil { listener.notify(Self.notice) }
        // It waits for its thread.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                listener.close()
                continuation.resume()
            }
        }
    }

    /// Says that there is something to look at.
    static let notice = "commit"

    package func catchUp() async throws(StoreError) -> StoreChange {
        let now = try await readOnce { db in
            let numbers = try db.statement(Self.numbers)
            guard try numbers.next() else { throw StoreError(.failed, "The database gave no numbers.") }
            defer { numbers.reset() }
            return Seen(
                event: numbers.number(0), registrations: numbers.number(1), load: numbers.number(2),
                webhooks: numbers.number(3), nodes: numbers.number(4), handingOver: numbers.number(5),
                projects: numbers.number(6))
        }
        let before = seen.withLock { $0 }
        guard now != before else { return [] }
        if now.differs(from: before) {
            try await store.noteOtherCommits(before?.webhooks == now.webhooks ? [] : .webhooks)
        }
        // Not before: what could not be told is told with the next look.
        seen.withLock { $0 = now }
        // What a node gives back that stops makes no event.
        var change: StoreChange = []
        if before?.nodes != now.nodes { change.insert(.nodes) }
        if before?.projects != now.projects { change.insert(.storedProjects) }
        if before?.event != now.event || before?.handingOver != now.handingOver || change.contains(.nodes) {
            change.formUnion([.interactiveWork, .bulkWork])
        }
        return change
    }

    package func providerToken(of key: ProviderKeyName) async throws(StoreError) -> SealedProviderToken? {
        try await read { db in try ProviderTokenTable(db: db).token(of: key) }
    }

    package func keep(
        _ token: SealedProviderToken, of key: ProviderKeyName, replacing former: SealedProviderToken?
    ) async throws(StoreError) -> SealedProviderToken {
        try await write { db, now in
            try ProviderTokenTable(db: db).keep(token, of: key, replacing: former, at: now)
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await store.engine.read(body)
        } catch {
            throw store.engine.note(error, isWrite: false)
        }
    }

    /// As ``read(_:)``, with one statement.
    private func readOnce<Value: Sendable>(
        _ body: @escaping @Sendable (any Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await store.engine.readOnce(body)
        } catch {
            throw store.engine.note(error, isWrite: false)
        }
    }

    /// Writes at the database's time of now.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Database, Timestamp) throws -> Value
    ) async throws(StoreError) -> Value {
        let engine = store.engine
        do {
            return try await withCheckedThrowingContinuation { continuation in
                engine.withWriter { connection in
                    continuation.resume(
                        with: Result {
                            var value: Value?
                            _ = try connection.get().inTransaction { db in
                                value = try body(db, try engine.leaseTime(db))
                                return true
                            }
                            guard let value else { throw StoreError(.failed, "A transaction did not run.") }
                            return value
                        })
                }
            }
        } catch {
            throw engine.note(error, isWrite: true)
        }
    }
}
