import PushModel
import Store

/// Counts the load of projects within one transaction: once for all messages of a project that begin or end in it.
///
/// What begins is counted where its event is made, at the end of the transaction, and what ends where a message becomes
/// complete: each in one place.
struct ProjectLoad {
    let db: any Database

    static let begin = """
        INSERT INTO project (name, messages, bytes, change)
        VALUES (?1, ?2, ?3, 1 + coalesce((SELECT max(change) FROM project), 0))
        ON CONFLICT (name) DO UPDATE SET messages = project.messages + excluded.messages,
            bytes = project.bytes + excluded.bytes,
            change = excluded.change
        """
    static let end = """
        UPDATE project SET messages = messages - ?2, bytes = bytes - ?3, change = 1 + (SELECT max(change) FROM project)
        WHERE name = ?1
        """

    /// Messages of a project have begun.
    func add(_ sum: StoreLoad.Sum, to project: ProjectID) throws {
        guard sum.messages > 0 else { return }
        try db.post(Self.begin, [project.rawValue, sum.messages, sum.bytes])
    }

    /// Messages of a project are complete.
    func take(_ sum: StoreLoad.Sum, from project: ProjectID) throws {
        guard sum.messages > 0 else { return }
        try db.post(Self.end, [project.rawValue, sum.messages, sum.bytes])
    }
}

/// The load of a project after a change.
struct LoadChange: Sendable {
    static let after = """
        SELECT name, messages, bytes, change FROM project INDEXED BY project_changed WHERE change > ? ORDER BY change
        """

    let project: ProjectID
    let sum: StoreLoad.Sum
    let number: Int64

    /// The projects whose load changed after change `number`, in the order of change.
    static func all(after number: Int64, in db: any Database) throws -> [LoadChange] {
        try all(db.cursor(after, [number]))
    }

    /// Reads the rows of ``after``.
    static func all(_ rows: RowCursor) throws -> [LoadChange] {
        var changes: [LoadChange] = []
        while let row = try rows.next() {
            changes.append(
                LoadChange(
                    project: try ProjectID(stored: row[0]),
                    sum: StoreLoad.Sum(messages: row[1], bytes: row[2]), number: row[3]))
        }
        return changes
    }
}

/// The load as of a change.
struct LoadState {
    private(set) var load = StoreLoad()
    private(set) var lastChange: Int64 = 0

    mutating func apply(_ changes: [LoadChange]) {
        for change in changes {
            let before = load.byProject[change.project] ?? StoreLoad.Sum()
            load.total.messages += change.sum.messages - before.messages
            load.total.bytes += change.sum.bytes - before.bytes
            load.byProject[change.project] = change.sum.messages == 0 ? nil : change.sum
            lastChange = max(lastChange, change.number)
        }
    }
}
