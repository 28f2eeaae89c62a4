package import SQLStorage
package import Store

/// What a database server says of itself, as far as it decides what a committed message is worth.
package struct DatabaseFacts: Hashable, Sendable {
    /// Its version, as `15.20`.
    package var version = ""
    /// Whether it waits for the disk at all.
    package var syncs = true
    /// Whether pages that a crash tore are found whole in the log.
    package var writesFullPages = true
    /// `synchronous_commit`: what a commit waits for.
    package var commitLevel = "on"
    /// `synchronous_standby_names`: for which standbys; empty: for none.
    package var synchronousNames = ""
    /// Whether the user may know more of standbys than that they are connected.
    package var seesReplication = true
    /// Standbys that are connected.
    package var standbys = 0
    /// Of these, those that commits wait for.
    package var synchronousStandbys = 0
    /// By how many bytes of the log the standby that is furthest ahead is behind; `nil`: there is none, or the user may
    /// not know.
    package var lag: Int64?

    private static let question = """
        SELECT CAST(current_setting('server_version') AS text), current_setting('fsync') = 'on',
            current_setting('full_page_writes') = 'on', CAST(current_setting('synchronous_commit') AS text),
            CAST(current_setting('synchronous_standby_names') AS text),
            (SELECT count(*) FROM pg_stat_replication),
            (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
            (SELECT CAST(min(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)) AS bigint) FROM pg_stat_replication),
            pg_has_role('pg_read_all_stats', 'USAGE')
        """

    /// Asks the server of a store.
    package init(of store: SQLStore) async throws(StoreError) {
        do {
            self = try await store.engine.read { db in
                let statement = try db.statement(Self.question)
                guard try statement.next() else { throw StoreError(.failed, "The database told nothing of itself.") }
                defer { statement.reset() }
                var facts = DatabaseFacts()
                facts.version = statement.text(0)
                facts.syncs = statement.number(1) == 1
                facts.writesFullPages = statement.number(2) == 1
                facts.commitLevel = statement.text(3)
                facts.synchronousNames = statement.text(4)
                facts.standbys = Int(statement.number(5))
                facts.synchronousStandbys = Int(statement.number(6))
                facts.lag = statement.optionalNumber(7)
                facts.seesReplication = statement.number(8) == 1
                return facts
            }
        } catch {
            throw store.engine.note(error, isWrite: false)
        }
    }

    /// What is usual.
    package init() {}
}
