import Logging
import PostgreSQLClient
import Store
import Synchronization

extension PostgresEngine {
    /// Days that have their partition before they begin. None is needed, since blocks go on in the one before; and each
    /// makes statements without a bound of ids look at one more.
    private static let daysAhead: Int64 = 2
    /// Partitions that the longest time of a ledger is divided into, at most: what looks at all of them takes its time, and
    /// a lock of each.
    private static let partitionLimit = 100

    /// Partitions are made, the sequence is moved and partitions are removed one after another, each in a short transaction
    /// of its own: the sequence moves only to what is committed, since it does not move back with a transaction.
    ///
    /// What is found empty goes with the next call, an hour later: a snapshot of before, which may have rows of it to read,
    /// has ended by then.
    package func keepLedgerDays(longest: Int) async throws -> Int {
        let span = Int64((longest + Self.partitionLimit - 1) / Self.partitionLimit)
        do {
            try await onWriter { [self] session in try prepareDays(by: max(1, span), session) }
            let found = Set(try await emptied())
            let due = emptiedPartitions.withLock { emptied in
                defer { emptied = found }
                return emptied.intersection(found)
            }
            for partition in due.sorted(by: { $0.end < $1.end }) {
                try await onWriter { session in
                    _ = try session.inTransaction(lock: Self.writeLock) {
                        try LedgerPartitionTable(session: session).drop(partition)
                        return true
                    }
                }
            }
            return due.count
        } catch let error as PostgreSQLError where error.isPassing {
            // Somebody reads or analyses the ledger for long: nothing depends on it, and the next hour is as good.
            logger.notice("the ledger's partitions are in use; they are changed later", metadata: ["error": "\(error)"])
            return 0
        }
    }

    /// Makes partitions for the days that come, and has ids go on with that of today.
    private func prepareDays(by span: Int64, _ session: PostgreSQLSession) throws {
        var today: Int64 = 0
        _ = try session.inTransaction(lock: Self.writeLock) {
            today = DeliveryDay.day(of: try leaseTime(PostgresDatabase(session)))
            return try LedgerPartitionTable(session: session).make(today...today + Self.daysAhead, span: span)
        }
        _ = try session.inTransaction(lock: Self.writeLock) {
            try LedgerPartitionTable(session: session).moveSequence(to: today)
            return true
        }
    }

    private func emptied() async throws -> [LedgerPartition] {
        try await withReader { session -> [LedgerPartition] in
            var found: Result<[LedgerPartition], any Error> = .success([])
            try session.inSnapshot { found = Result { try LedgerPartitionTable(session: session).emptied() } }
            return try found.get()
        }
    }

    private func onWriter(_ body: @escaping @Sendable (PostgreSQLSession) throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            pool.withWriter { session in continuation.resume(with: Result { try body(try session.get()) }) }
        }
    }
}
