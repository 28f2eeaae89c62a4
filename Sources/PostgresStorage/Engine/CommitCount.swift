import PostgreSQLClient
import SQLStorage
import Synchronization

/// Tells the commits of other processes from ours: the database counts all, and those of each process.
///
/// The row of this process tells also whether a transaction is committed whose COMMIT had no answer: each leaves a number there
/// that no other one had.
final class CommitCount: Sendable {
    // Numbers of this process are known here: its row is right again with the next one when it was removed.
    private static let increment = """
        INSERT INTO meta (name, value) VALUES ('commits', 1), (?, CAST(? AS bigint))
        ON CONFLICT (name) DO UPDATE
        SET value = CASE meta.name WHEN 'commits' THEN meta.value + 1 ELSE excluded.value END
        """
    private static let value = "SELECT value FROM meta WHERE name = ?"
    private static let all = "SELECT value FROM meta WHERE name = 'commits'"
    private static let processes = "SELECT name, value FROM meta WHERE name LIKE 'commits of %'"
    private static let remove = "DELETE FROM meta WHERE name = ? AND value = ?"

    /// Commits of ours, as far as they are known to have taken place.
    private let own = Atomic<Int64>(0)
    /// The number of the transaction that began last, whatever became of it.
    private let begun = Atomic<Int64>(0)
    /// The row of this process.
    let name = "commits of \(String(UInt64.random(in: .min ... .max), radix: 16))"
    /// The counts of other processes when it was looked last.
    private let seen = Mutex<[String: Int64]>([:])

    /// What the next transaction leaves: a number of its own, since one before it may have been committed without our knowledge.
    func mark(_ session: PostgreSQLSession) -> CommitMark {
        let number = begun.add(1, ordering: .relaxed).newValue
        return CommitMark { [name] () throws(PostgreSQLError) in
            let statement = try session.statement(Self.increment)
            statement.bind(name)
            statement.bind(number)
            try statement.post()
        } isThere: { [name] () throws(PostgreSQLError) in
            let statement = try session.statement(Self.value)
            statement.bind(name)
            defer { statement.reset() }
            return try statement.next() && statement.number(0) == number
        }
    }

    /// A transaction of ours was committed: before anyone is told.
    func noteOwn() {
        own.add(1, ordering: .releasing)
    }

    /// A number that changes with the commits of others. Beside a commit of ours it may be one too high for a moment, and it is
    /// from one on of which it is not known that it took place.
    func others(_ db: any Database) throws -> Int64 {
        let statement = try db.statement(Self.all)
        guard try statement.next() else { return 0 }
        defer { statement.reset() }
        return statement.number(0) - own.load(ordering: .acquiring)
    }

    /// Removes the counts of processes that committed nothing since the last call: a gateway renews its lease all the time.
    ///
    /// - Returns: whether there were any.
    func forgetOthers(_ session: PostgreSQLSession) throws -> Bool {
        var counts: [String: Int64] = [:]
        let rows = try session.statement(Self.processes)
        while try rows.next() { counts[rows.text(0)] = rows.number(1) }
        counts[name] = nil
        let idle = seen.withLock { seen in
            defer { seen = counts }
            return counts.filter { seen[$0.key] == $0.value }
        }
        for (name, count) in idle {
            let statement = try session.statement(Self.remove)
            statement.bind(name)
            statement.bind(count)
            try statement.post()
        }
        return !idle.isEmpty
    }
}
