import PostgreSQLClient
import Store

/// Brings a database to the tables that a program is made for.
///
/// Two that do so at once take turns, under a lock that only migrations ask for. A migration is one transaction, which takes
/// the lock of all writes too: those of gateways that run wait for it. What takes long is done before that.
struct SchemaMigrator {
    /// Those that the program knows, oldest first.
    var migrations = Schema.migrations

    /// What a database has.
    private struct State: Equatable {
        /// The version of its tables; 0: there are none.
        var version: Int64 = 0
        /// The oldest version that a program may be made for to go on with them.
        var runsFrom: Int64 = 0
    }

    /// How long a script may take, which may read a large table as a whole.
    private static let scriptTimeout: Duration = .seconds(3600)

    private var newest: Int64 { migrations.last?.version ?? 0 }

    /// Makes what is missing. Nothing waits when nothing is.
    ///
    /// - Parameter lock: the key of the advisory lock of all writes.
    /// - Throws: ``StoreError`` `.newerSchema` when the tables are of a version that this program can't go on with, otherwise
    ///   the client's error.
    func migrate(_ session: PostgreSQLSession, lock: Int64) throws {
        var state: Result<State, any Error> = .success(State())
        try session.inSnapshot { state = Result { try Self.state(session) } }
        let found = try state.get()
        if try isDone(found) { return }
        for migration in pending(after: found) {
            for text in migration.preparations { try prepare(text, for: migration, session) }
        }
        _ = try session.inTransaction(lock: Self.migrationLock) {
            try session.execute("SELECT pg_advisory_xact_lock(\(lock))")
            // Another program may have been faster.
            let state = try Self.state(session)
            guard !(try isDone(state)) else { return false }
            try session.execute("SET LOCAL statement_timeout = 0")
            try session.execute(Schema.versions)
            for migration in pending(after: state) {
                for script in migration.scripts { try session.run(script: script, timeout: Self.scriptTimeout) }
                try session.execute(
                    """
                    INSERT INTO schema_version (version, runs_from, time) VALUES (\(migration.version),
                        \(migration.runsFrom), CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint))
                    """)
            }
            return true
        }
    }

    /// Does a part of what comes before a migration. Never to tables that have that already: what they are by then is not what
    /// it was written for.
    func prepare(_ text: String, for migration: Schema.Migration, _ session: PostgreSQLSession) throws {
        _ = try session.inTransaction(lock: Self.migrationLock) {
            guard try Self.state(session).version < migration.version else { return false }
            try session.execute("SET LOCAL statement_timeout = 0")
            try session.run(script: text, timeout: Self.scriptTimeout)
            return true
        }
    }

    /// The key of the advisory lock of migrations.
    static let migrationLock: Int64 = 0x6865_7261_6c65

    private func pending(after state: State) -> [Schema.Migration] {
        migrations.filter { $0.version > state.version }
    }

    /// Whether nothing is missing.
    private func isDone(_ state: State) throws(StoreError) -> Bool {
        guard state.version <= newest || state.runsFrom <= newest else {
            throw StoreError(
                .newerSchema,
                "The tables of the database are of version \(state.version), for gateways from version \(state.runsFrom) on; "
                    + "this one knows version \(newest). Install a newer version of Herald.")
        }
        return state.version >= newest
    }

    private static func state(_ session: PostgreSQLSession) throws -> State {
        // Asked of the catalog itself: what the server keeps of names may be of a moment before the lock was there.
        let table = try session.statement(
            """
            SELECT 1 FROM pg_class
            WHERE relname = 'schema_version' AND relnamespace = CAST(current_schema() AS regnamespace)
            """)
        guard try table.next() else { return State() }
        table.reset()
        let rows = try session.statement("SELECT version, runs_from FROM schema_version ORDER BY version DESC LIMIT 1")
        guard try rows.next() else { return State() }
        defer { rows.reset() }
        return State(version: rows.number(0), runsFrom: rows.number(1))
    }
}
