import PostgreSQLClient
package import SQLStorage
package import Store

/// What a database server says of the ledger's partitions.
package struct LedgerDays: Hashable, Sendable {
    /// How many there are, with the first one.
    package var partitions: Int
    /// Whether a gateway has begun with days: the partition of blocks before them is not the only one.
    package var isBegun: Bool { partitions > 1 }
    /// The first day without one, since 1970.
    package var unprepared: Int64
    /// The day of now, by the server's clock.
    package var today: Int64
    /// Locks that the server has room for: a statement that looks at the whole ledger takes one of each partition and of
    /// each of its indexes.
    package var locks: Int64

    /// Locks that a statement takes of a partition: of the table and its indexes.
    package static let locksOfPartition: Int64 = 6

    /// As many as the server promises (postgresql.org/docs/15/runtime-config-locks.html).
    fileprivate static let lockCount = """
        SELECT CAST(current_setting('max_locks_per_transaction') AS bigint)
            * (CAST(current_setting('max_connections') AS bigint)
                + CAST(current_setting('max_prepared_transactions') AS bigint))
        """

    /// Asks the server of a store.
    package init(of store: SQLStore) async throws(StoreError) {
        guard let engine = store.engine as? PostgresEngine else {
            throw StoreError(.failed, "The ledger of this store has no partitions.")
        }
        do {
            self = try await engine.ledgerDays()
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }

    /// Describes partitions.
    package init(partitions: Int, unprepared: Int64, today: Int64, locks: Int64) {
        (self.partitions, self.unprepared, self.today, self.locks) = (partitions, unprepared, today, locks)
    }
}

extension PostgresEngine {
    fileprivate func ledgerDays() async throws -> LedgerDays {
        try await withReader { [self] session -> LedgerDays in
            var days: Result<LedgerDays, any Error>?
            try session.inSnapshot {
                days = Result {
                    let partitions = try LedgerPartitionTable(session: session).all()
                    return LedgerDays(
                        partitions: partitions.count, unprepared: partitions.last?.endDay ?? 0,
                        today: DeliveryDay.day(of: try leaseTime(PostgresDatabase(session))),
                        locks: try LedgerPartitionTable(session: session).number(LedgerDays.lockCount))
                }
            }
            guard let days else { throw StoreError(.failed, "A read did not run.") }
            return try days.get()
        }
    }
}
