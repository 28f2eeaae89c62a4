import Store

extension ImportPace {
    /// The longest step of SQLite's own way of asking for a lock (sqlite3_busy_timeout).
    static let longestBusyStep: Duration = .milliseconds(100)

    /// A process that waits for SQLite's lock has no place in a queue: it asks again and again, and gets the lock only if
    /// it asks between two transactions of the other. An import that begins the next transaction at once so keeps a
    /// gateway out for seconds, however short its transactions are. Hence a rest after each, as long as all the steps of
    /// asking: the writer is the gateway's at least half of the time, and it waits no longer than a transaction. An
    /// import without a gateway beside it rests never; a gateway that starts meanwhile waits for one transaction.
    init(isBesideGateway: Bool) {
        self.init(
            chunkTime: isBesideGateway ? .milliseconds(100) : .seconds(2),
            rest: isBesideGateway ? Self.longestBusyStep : .zero)
    }
}
