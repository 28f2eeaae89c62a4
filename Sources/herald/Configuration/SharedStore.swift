import Logging
import PushModel
import Store

#if PostgreSQL
    import Dispatch
    import PostgresStorage
    import SQLStorage
#endif

/// The store on PostgreSQL, where this program was built with it: the only place that names that storage.
enum SharedStore {
    /// What is wrong with `store.url`; `nil`: nothing that shows without asking the server. The URL may hold a password,
    /// so it is not repeated.
    static func problem(of url: String) -> String? {
        guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://") else {
            return "this is no URL of a PostgreSQL database; write it like postgresql://herald@db.example.com/herald"
        }
        #if PostgreSQL
            return nil
        #else
            return unsupported
        #endif
    }
}

#if PostgreSQL
    extension SharedStore {
        /// Opens the store. Blocks its thread.
        static func open(
            _ database: GatewayConfiguration.SharedDatabase, as role: StoreRole, logger: Logger
        ) throws(StoreError) -> OpenedStore {
            let store = try openStore(database, as: role, logger: logger)
            let nodes = try PostgresStore.nodes(
                of: store, url: database.url, passwordFile: database.passwordFile, logger: logger)
            return OpenedStore(store: store, nodes: nodes, projects: nodes)
        }

        private static func openStore(
            _ database: GatewayConfiguration.SharedDatabase, as role: StoreRole, logger: Logger
        ) throws(StoreError) -> SQLStore {
            try PostgresStore.open(
                url: database.url, passwordFile: database.passwordFile, role: role, logger: logger)
        }

        /// How long an answer may take while a store is copied: sums over a whole table are asked for.
        private static let copyTimeout: Duration = .seconds(24 * 3600)

        private static func openForCopy(
            _ database: GatewayConfiguration.SharedDatabase
        ) async throws(StoreError) -> SQLStore {
            let opened: Result<SQLStore, StoreError> = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(
                        returning: Result { () throws(StoreError) in
                            try PostgresStore.open(
                                url: database.url, passwordFile: database.passwordFile, role: .command,
                                answerTimeout: copyTimeout,
                                logger: Logger(label: "store", factory: { _ in SwiftLogNoOpLogHandler() }))
                        })
                }
            }
            return try opened.get()
        }

        /// What the server says of itself: whether what is accepted is safe.
        ///
        /// - Parameter store: an open one; another storage's has no findings.
        static func findings(of store: any AdministeredStore, isUnsafeAllowed: Bool) async -> [Finding] {
            guard let store = store as? SQLStore else { return [] }
            do throws(StoreError) {
                let durability = DurabilityCheck(
                    facts: try await DatabaseFacts(of: store), isUnsafeAllowed: isUnsafeAllowed)
                return durability.findings + LedgerDaysCheck(days: try await LedgerDays(of: store)).findings
            } catch {
                return [Finding(.bad, "database", error.message)]
            }
        }

        /// Copies the embedded store of one configuration into the database of another.
        ///
        /// - Returns: how many rows each table has.
        static func move(
            from source: GatewayConfiguration, to target: GatewayConfiguration,
            progress: @escaping @Sendable (_ table: String, _ done: Int, _ total: Int) -> Void
        ) async throws(Failure) -> [(table: String, rows: Int)] {
            let from: any AdministeredStore
            do throws(StoreError) {
                // As a gateway: none may have it meanwhile.
                from = try await source.openStore(as: .gateway)
            } catch {
                throw Failure(store: error, in: source)
            }
            do throws(StoreError) {
                guard let from = from as? SQLStore, let database = target.database else {
                    throw StoreError(.failed, "These stores can't be copied.")
                }
                let to = try await openForCopy(database)
                let tables = try await StoreTransfer(from: from.engine, to: to.engine).run(progress: progress)
                try to.close()
                try from.close()
                return tables
            } catch {
                throw Failure(store: error, in: target)
            }
        }
    }
#else
    extension SharedStore {
        private static let unsupported =
            "this herald was built without PostgreSQL; build one with HERALD_TRAITS=PostgreSQL swift build -c release"

        /// Opens no store: no configuration with one is read.
        static func open(
            _ database: GatewayConfiguration.SharedDatabase, as role: StoreRole, logger: Logger
        ) throws(StoreError) -> OpenedStore {
            throw StoreError(.unavailable, unsupported)
        }

        /// None.
        static func findings(of store: any AdministeredStore, isUnsafeAllowed: Bool) async -> [Finding] { [] }

        /// Copies nothing.
        static func move(
            from source: GatewayConfiguration, to target: GatewayConfiguration,
            progress: @escaping @Sendable (_ table: String, _ done: Int, _ total: Int) -> Void
        ) async throws(Failure) -> [(table: String, rows: Int)] {
            throw Failure(.configuration, unsupported)
        }
    }
#endif
