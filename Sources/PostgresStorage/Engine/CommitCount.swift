import SQLStorage
import Synchronization

/// Tells the commits of other processes from ours: the database counts all, and this ours.
final class CommitCount: Sendable {
    static let increment = """
        INSERT INTO meta (name, value) VALUES ('commits', 1)
        ON CONFLICT (name) DO UPDATE SET value = meta.value + 1
        """
    private static let all = "SELECT value FROM meta WHERE name = 'commits'"

    private let own = Atomic<Int64>(0)

    /// A transaction of ours was committed: before anyone is told.
    func noteOwn() {
        own.add(1, ordering: .releasing)
    }

    /// A number that changes with the commits of others. Beside a commit of ours it may be one too high for a moment.
    func others(_ db: any Database) throws -> Int64 {
        let statement = try db.statement(Self.all)
        guard try statement.next() else { return 0 }
        defer { statement.reset() }
        return statement.number(0) - own.load(ordering: .acquiring)
    }
}
