/// By what a transaction is found again whose COMMIT had no answer.
struct CommitTrace: Equatable {
    /// The number of the transaction, with its epoch: never used twice by a cluster.
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

    /// What a server says of it.
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
