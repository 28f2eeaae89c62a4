/// By what a transaction is found again whose COMMIT had no answer.
struct CommitTrace: Equatable {
    /// The number of the transaction, with its epoch. It tells whether it may still run. A server that crashed gives numbers
    /// again of which nothing had reached its disk, so only a ``CommitMark`` tells that it was committed.
    let transaction: Int64
    /// The timeline that the server wrote: another one after the promotion of a standby.
    let timeline: String
    /// The server's process that runs it.
    let process: Int32
}

/// What became of a transaction.
enum CommitOutcome: Equatable {
    case committed
    case rolledBack
    /// Its process has not seen yet that we are gone.
    case running

    /// What a server says of a transaction without a ``CommitMark``.
    ///
    /// - Parameters:
    ///   - status: what `pg_xact_status` gave; `nil`: the number is too old to be known.
    ///   - timeline: that the server writes now.
    /// - Returns: `nil`: nothing follows from it. On another timeline the number may be that of another transaction: a
    ///   standby that was promoted goes on to count behind the last one that it had heard of.
    init?(status: String?, timeline: String, trace: CommitTrace) {
        guard timeline == trace.timeline else { return nil }
        switch status {
        case "committed": self = .committed
        case "aborted": self = .rolledBack
        case "in progress": self = .running
        default: return nil
        }
    }
}

/// What a transaction leaves in the database, so that it is found there when its COMMIT had no answer, whatever became of the
/// server: neither a crash nor the promotion of a standby brings one without the other.
package struct CommitMark {
    let leave: () throws(PostgreSQLError) -> Void
    let isThere: () throws(PostgreSQLError) -> Bool

    /// - Parameters:
    ///   - leave: posts a change, the last one of the transaction.
    ///   - isThere: reads, perhaps on another connection, whether that change is there. The transaction does not run any more.
    package init(
        leave: @escaping () throws(PostgreSQLError) -> Void, isThere: @escaping () throws(PostgreSQLError) -> Bool
    ) {
        self.leave = leave
        self.isThere = isThere
    }
}
