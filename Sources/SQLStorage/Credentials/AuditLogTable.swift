import JSON
package import PushModel
package import Store

extension SQLStore: AuditStore {
    /// Appends an entry in a commit of its own.
    package func record(_ entry: AuditEntry) async throws(StoreError) {
        try await write { db in try AuditLogTable(db: db).add(entry) }
    }

    /// Walks the log from the newest entry back, a bounded number of rows in one call.
    package func auditEntries(
        _ filter: AuditFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<AuditEntry> {
        let before = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .audit).last }
        return try await read { db in
            try AuditLogTable(db: db).page(filter, before: before ?? .max, limit: limit)
        }
    }

    /// Walks the index of times.
    package func forgetAuditEntries(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write { db in try db.change(AuditLogTable.forget, [time.milliseconds, limit]) }
    }
}

/// The audit log within one transaction: changes of the store add their entry where they are made.
package struct AuditLogTable {
    let db: any Database

    /// The log, within a transaction.
    package init(db: any Database) {
        self.db = db
    }

    /// Rows that one page looks at.
    static let lookLimit = 10_000

    static let columns = "time, project, action, subject, details, \(CredentialUse.columns)"
    static let insertion = """
        INSERT INTO audit_log (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let newest = "SELECT id, \(columns) FROM audit_log WHERE id < ?1 ORDER BY id DESC LIMIT ?2"
    static let newestOfProject = """
        SELECT id, \(columns) FROM audit_log INDEXED BY audit_log_by_project
        WHERE project = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2
        """
    static let newestOfAction = """
        SELECT id, \(columns) FROM audit_log INDEXED BY audit_log_by_action
        WHERE project = ?3 AND action = ?4 AND id < ?1 ORDER BY id DESC LIMIT ?2
        """
    static let forget = """
        DELETE FROM audit_log WHERE id IN (
            SELECT id FROM audit_log INDEXED BY audit_log_by_time WHERE time < ?1 LIMIT ?2)
        """

    /// Appends an entry.
    package func add(_ entry: AuditEntry) throws {
        let statement = try db.statement(Self.insertion)
        Self.bind(entry, to: statement)
        try statement.post()
    }

    /// Appends entries, in their order.
    func add(_ entries: [AuditEntry]) throws {
        let rows = RowBatch()
        for entry in entries {
            Self.bind(entry, to: rows)
            rows.endRow()
        }
        try db.insert(Self.insertion, rows)
    }

    /// Binds what ``insertion`` takes.
    private static func bind(_ entry: AuditEntry, to row: any ParameterBinder) {
        let use = entry.credential
        row.bind(entry.time.milliseconds)
        row.bind(entry.project.rawValue)
        row.bind(entry.action.rawValue)
        row.bind(entry.subject)
        row.bind(entry.details.isEmpty ? nil : text(of: entry.details))
        row.bind(use.id)
        row.bind(use.name)
        row.bind(use.role?.rawValue)
        row.bind(use.address)
    }

    func page(_ filter: AuditFilter, before: Int64, limit: Int) throws -> ResultPage<AuditEntry> {
        let rows = try rows(filter, before: before)
        var page = ResultPage<AuditEntry>(elements: [], nextCursor: nil)
        var looked = 0
        while let row = try rows.next() {
            looked += 1
            let entry = try AuditEntry(row: row, from: 1)
            if filter.keeps(entry) { page.elements.append(entry) }
            if page.elements.count == limit || looked == Self.lookLimit {
                page.nextCursor = PageCursor(.audit, after: row[0]).text
                break
            }
        }
        if page.nextCursor != nil, try rows.next() == nil, looked < Self.lookLimit { page.nextCursor = nil }
        return page
    }

    private func rows(_ filter: AuditFilter, before: Int64) throws -> RowCursor {
        var arguments: SQLArguments = [before, Self.lookLimit]
        guard let project = filter.project else {
            return try db.cursor(Self.newest, arguments)
        }
        arguments += [project.rawValue]
        guard let action = filter.action else {
            return try db.cursor(Self.newestOfProject, arguments)
        }
        arguments += [action.rawValue]
        return try db.cursor(Self.newestOfAction, arguments)
    }

    /// The members of details that name a user.
    static let users = ["user", "formerUser"]

    /// What the column `details` holds.
    static func details(_ text: String) throws -> [String: String] {
        guard case .object(let members) = try JSONValue(parsing: text.utf8) else {
            throw StoreError.invalid("an audit entry")
        }
        return Dictionary(
            members.compactMap { member in member.value.stringValue.map { (member.name, $0) } },
            uniquingKeysWith: { _, last in last })
    }

    /// The column `details`.
    static func text(of details: [String: String]) -> String {
        let members = details.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
        return String(decoding: JSONValue.object(members).bytes, as: UTF8.self)
    }
}

extension AuditFilter {
    fileprivate func keeps(_ entry: AuditEntry) -> Bool {
        (action.map { $0 == entry.action } ?? true) && (subject.map { $0 == entry.subject } ?? true)
            && (since.map { $0 <= entry.time } ?? true)
    }
}

extension AuditEntry {
    /// Reads ``AuditLogTable/columns``, which begin at `start`.
    fileprivate init(row: Row, from start: Int) throws {
        let details = try (row[start + 4] as String?).map(AuditLogTable.details) ?? [:]
        guard let use = try CredentialUse(row: row, from: start + 5) else { throw StoreError.invalid("an audit entry") }
        self.init(
            time: Timestamp(milliseconds: row[start]), project: try ProjectID(stored: row[start + 1]),
            action: try AuditAction(storedCase: row[start + 2]), subject: row[start + 3], details: details,
            credential: use)
    }
}

extension CredentialUse {
    /// The columns that ``init(row:from:)`` reads.
    static let columns = "credential_id, credential_name, credential_role, credential_address"

    /// The use that columns hold; `nil`: none is kept.
    init?(row: Row, from start: Int) throws {
        guard let id: String = row[start] else { return nil }
        self.init(
            id: id, name: row[start + 1], role: try (row[start + 2] as String?).map { try Role(storedCase: $0) },
            address: row[start + 3])
    }
}
