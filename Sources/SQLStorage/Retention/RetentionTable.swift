import PushModel
import Store

/// What was removed of a project, within one transaction.
struct RetentionTable {
    let db: any Database
    let project: String

    /// Projects with messages, found by seeking from one to the next, and those with apps, or of which something was removed
    /// before, a few rows.
    static let projects = """
        WITH RECURSIVE found (name) AS (
            SELECT min(project) FROM message
            UNION ALL
            SELECT (SELECT min(m.project) FROM message m WHERE m.project > found.name) FROM found
            WHERE found.name IS NOT NULL)
        SELECT name FROM found WHERE name IS NOT NULL
        UNION SELECT project FROM app UNION SELECT project FROM retention ORDER BY 1
        """
    static let byProject = "SELECT id FROM retention WHERE project = ?"
    static let removing = "SELECT removing FROM retention WHERE project = ?"
    static let payloadsAfter = "SELECT payloads_after FROM retention WHERE project = ?"
    static let removed = "SELECT ledger_start, last_block FROM retention WHERE project = ?"

    private static let make = "INSERT INTO retention (project) VALUES (?) ON CONFLICT DO NOTHING"

    private func change(_ assignment: String, _ value: Int64?) throws {
        try db.change(Self.make, [project])
        try db.change("UPDATE retention SET \(assignment) WHERE project = ?1", [project, value])
    }

    /// Projects that have something.
    static func allProjects(_ db: any Database) throws -> [String] {
        try db.column(projects)
    }

    /// What stands for the project in other tables.
    func number() throws -> Int64 {
        try db.change(Self.make, [project])
        guard let number = try db.number(Self.byProject, [project]) else { throw StoreError.invalid("retention") }
        return number
    }

    /// The message whose rows go in several steps.
    func removing() throws -> Int64? {
        try db.number(Self.removing, [project])
    }

    func setRemoving(_ message: Int64?) throws {
        try change("removing = ?2", message)
    }

    /// Up to which message the walk has removed payloads.
    func payloadsAfter() throws -> Int64 {
        try db.number(Self.payloadsAfter, [project]) ?? 0
    }

    func setPayloadsAfter(_ message: Int64) throws {
        try change("payloads_after = ?2", message)
    }

    /// Notes that a ledger block goes: what was recorded with it, and before, is not complete any more.
    func note(block id: Int64, recordedAt milliseconds: Int64) throws {
        try change("ledger_start = greatest(ledger_start, ?2)", milliseconds + 1)
        try change("last_block = greatest(last_block, ?2)", id)
    }

    /// Notes that the sums of a day are not what is left of it.
    func note(day: Int64) throws {
        try change("days_after = greatest(days_after, ?2)", day)
    }

    /// Notes that receipts recorded before a time go.
    func note(receiptsBefore time: Timestamp) throws {
        try change("receipts_start = greatest(receipts_start, ?2)", time.milliseconds)
    }
}
