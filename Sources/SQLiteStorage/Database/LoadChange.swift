import GRDB
import PushModel
import Store

/// The load of a project after a change, as the schema's triggers count it.
struct LoadChange: Sendable {
    static let after = """
        SELECT name, messages, bytes, change FROM project INDEXED BY project_changed WHERE change > ? ORDER BY change
        """

    let project: ProjectID
    let sum: StoreLoad.Sum
    let number: Int64

    /// The projects whose load changed after change `number`, in the order of change.
    static func all(after number: Int64, in db: Database) throws -> [LoadChange] {
        let rows = try Row.fetchCursor(db.cachedStatement(sql: after), arguments: [number])
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
