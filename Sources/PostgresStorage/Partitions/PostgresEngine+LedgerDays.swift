import Logging
import PostgreSQLClient
import Store
import Synchronization

extension PostgresEngine {
    /// Days that have their partition before they begin. None is needed, since blocks go on in the one before; and each
    /// makes statements without a bound of ids look at one more.
    private static let daysAhead: Int64 = 2
    /// Days that ids may be behind the clock, as after a pause of all gateways, before it is doubted.
    private static let likelyDays: Int64 = 40
    /// Partitions that the longest time of a ledger is divided into, at most: what looks at all of them takes its time, and
    /// a lock of each.
    private static let partitionLimit = 100

    /// Partitions are made, the sequence is moved and partitions are removed one after another, each in a short transaction
    /// of its own: the sequence moves only to what is committed, since it does not move back with a transaction.
    ///
    /// What is found empty goes with the next call, an hour later: a snapshot of before, which may have rows of it to read,
    /// has ended by then. What processes that are gone left behind of their commits goes, too.
    package func keepLedgerDays(longest: Int) async throws -> Int {
        let span = Int64((longest + Self.partitionLimit - 1) / Self.partitionLimit)
        do {
            try await onWriter { [self] session in
                try prepareDays(by: max(1, span), session)
                _ = try session.inTransaction(lock: Self.writeLock, attempts: 1) { try commits.forgetOthers(session) }
            }
            let found = Set(try await emptied())
            let due = emptiedPartitions.withLock { emptied in
                defer { emptied = found }
                return emptied.intersection(found)
            }
            var count = 0
            for partition in due.sorted(by: { $0.end < $1.end }) {
                let isDropped = try await onWriter { session in
                    try session.inTransaction(lock: Self.writeLock, attempts: 1) {
                        try LedgerPartitionTable(session: session).drop(partition)
                    }
                }
                count += isDropped ? 1 : 0
            }
            return count
        } catch let error as PostgreSQLError where error.isPassing {
            // Somebody reads or analyses the ledger for long: nothing depends on it, and the next hour is as good.
            logger.notice("the ledger's partitions are in use; they are changed later", metadata: ["error": "\(error)"])
            return 0
        }
    }

    /// Makes partitions for the days that come, and has ids go on with that of today.
    private func prepareDays(by span: Int64, _ session: PostgreSQLSession) throws {
        var today: Int64 = 0
        var isLikely = false
        _ = try session.inTransaction(lock: Self.writeLock, attempts: 1) {
            let table = LedgerPartitionTable(session: session)
            today = DeliveryDay.day(of: try leaseTime(PostgresDatabase(session)))
            isLikely = try self.isLikely(today, after: table.day())
            return try isLikely && table.make(today...today + Self.daysAhead, span: span)
        }
        guard isLikely else { return }
        _ = try session.inTransaction(lock: Self.writeLock, attempts: 1) {
            try LedgerPartitionTable(session: session).moveSequence(to: today)
            return true
        }
    }

    /// Whether a day far ahead of that of the ids is to be believed: it is when it was there an hour ago, too. Ids never go
    /// back, so a clock that is wrong for a moment must not lead them on.
    private func isLikely(_ today: Int64, after day: Int64) -> Bool {
        doubtedDay.withLock { doubted in
            guard day > 0, today - day > Self.likelyDays else {
                doubted = nil
                return true
            }
            if let doubted, (doubted...doubted + 1).contains(today) { return true }
            doubted = today
            logger.warning(
                "the database's clock is far ahead of the ledger; its days go on when it still is in an hour",
                metadata: ["days": "\(today - day)"])
            return false
        }
    }

    private func emptied() async throws -> [LedgerPartition] {
        try await withReader { session -> [LedgerPartition] in
            var found: Result<[LedgerPartition], any Error> = .success([])
            try session.inSnapshot { found = Result { try LedgerPartitionTable(session: session).emptied() } }
            return try found.get()
        }
    }

    private func onWriter<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLSession) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            pool.withWriter { session in continuation.resume(with: Result { try body(try session.get()) }) }
        }
    }
}
