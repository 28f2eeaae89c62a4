/// How an import shares the one writer of a store with a gateway in another process.
///
/// A process that waits for SQLite's lock has no place in a line: it asks again and again, and gets the lock only if it
/// asks between two transactions of the other. An import that begins the next transaction at once so keeps a gateway
/// out for seconds, however short its transactions are. Hence a rest after each, as long as all the steps of asking.
package struct ImportPace: Hashable, Sendable {
    /// How long a transaction should take.
    package let chunkTime: Duration
    /// How long nothing is written after it; zero: not at all.
    package let rest: Duration

    /// The longest step of SQLite's own way of asking for a lock (sqlite3_busy_timeout).
    static let longestBusyStep: Duration = .milliseconds(100)

    /// Alone, there is nobody to wait for. Beside a gateway, the writer is its at least half of the time, and it waits no
    /// longer than a transaction.
    package init(isBesideGateway: Bool) {
        chunkTime = isBesideGateway ? .milliseconds(100) : .seconds(1)
        rest = isBesideGateway ? Self.longestBusyStep : .zero
    }

    /// The size of the next chunk after one of `size` rows that took so long: at most double, at least half.
    package func size(after size: Int, took duration: Duration, limit: Int) -> Int {
        let share = chunkTime / max(duration, .microseconds(1))
        return min(limit, max(50, Int(Double(size) * min(2, max(0.5, share)))))
    }
}
