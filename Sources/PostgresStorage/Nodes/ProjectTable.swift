import PushModel
import SQLStorage
import Store

/// The stored projects of a database, within a transaction.
struct ProjectTable {
    let db: any Database

    private static let columns = "version, time, credential_id, credential_name, note, program, key_check"
    private static let newest = "SELECT coalesce(max(version), 0) FROM project_version"
    private static let byVersion = "SELECT \(columns) FROM project_version WHERE version = ?"
    private static let all = "SELECT \(columns) FROM project_version ORDER BY version DESC LIMIT 1000"
    private static let ofVersion = """
        SELECT project, file, document, sealed FROM stored_project WHERE version = ? ORDER BY project
        """
    private static let insertion = "INSERT INTO project_version (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?)"
    private static let projectInsertion = """
        INSERT INTO stored_project (version, project, file, document, sealed) VALUES (?, ?, ?, ?, ?)
        """
    private static let removal = "DELETE FROM project_version WHERE version <= ?"
    private static let singleRemoval = "DELETE FROM project_version WHERE version = ?"
    private static let keyChange = "UPDATE project_version SET key_check = ? WHERE version = ?"
    private static let sealChange = "UPDATE stored_project SET sealed = ? WHERE version = ? AND project = ?"

    // MARK: Reading

    /// The number of the newest version; 0: there is none.
    func newest() throws -> Int64 {
        let row = try db.statement(Self.newest)
        guard try row.next() else { return 0 }
        defer { row.reset() }
        return row.number(0)
    }

    /// A version with its projects; `nil`: it is not there.
    func projects(of version: Int64) throws -> StoredProjects? {
        guard let head = try head(of: version) else { return nil }
        let rows = try db.statement(Self.ofVersion)
        rows.bind(version)
        var projects: [StoredProject] = []
        while try rows.next() {
            guard let id = ProjectID(rawValue: rows.text(0)) else { throw StoreError.invalid("a stored project") }
            projects.append(
                StoredProject(id: id, file: rows.text(1), text: rows.text(2), sealed: rows.bytes(3)))
        }
        return StoredProjects(version: head, projects: projects)
    }

    /// A version without its projects; `nil`: it is not there.
    private func head(of version: Int64) throws -> ProjectVersion? {
        let row = try db.statement(Self.byVersion)
        row.bind(version)
        guard try row.next() else { return nil }
        defer { row.reset() }
        return Self.version(row)
    }

    /// The versions that are kept, newest first.
    func versions() throws -> [ProjectVersion] {
        let rows = try db.statement(Self.all)
        var versions: [ProjectVersion] = []
        while try rows.next() { versions.append(Self.version(rows)) }
        return versions
    }

    private static func version(_ row: any PreparedStatement) -> ProjectVersion {
        ProjectVersion(
            number: row.number(0), storedAt: Timestamp(milliseconds: row.number(1)),
            credential: CredentialUse(id: row.text(2), name: row.optionalText(3)), note: row.text(4),
            program: row.text(5), keyCheck: row.bytes(6))
    }

    // MARK: Storing

    /// Stores a version, and forgets what is older than those that are kept.
    ///
    /// - Returns: its number; `nil`: it was made from another version than the newest, or before that was sealed anew.
    func insert(_ new: NewProjectVersion, at now: Timestamp) throws -> Int64? {
        let newest = try newest()
        guard try head(of: newest) == new.base else { return nil }
        let number = newest + 1
        let insertion = try db.statement(Self.insertion)
        insertion.bind(number)
        insertion.bind(now.milliseconds)
        insertion.bind(new.credential.id)
        if let name = new.credential.name { insertion.bind(name) } else { insertion.bindNull() }
        insertion.bind(new.note)
        insertion.bind(new.program)
        insertion.bind(blob: new.keyCheck)
        try insertion.run()
        for project in new.projects {
            let row = try db.statement(Self.projectInsertion)
            row.bind(number)
            row.bind(project.id.rawValue)
            row.bind(project.file)
            row.bind(project.text)
            row.bind(blob: project.sealed)
            try row.run()
        }
        let removal = try db.statement(Self.removal)
        removal.bind(number - Int64(ProjectVersion.kept))
        try removal.run()
        for (project, change) in new.changes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let details = change.details.merging(["version": String(number)]) { own, _ in own }
            try audit(change.action, project, details, new.credential, at: now)
        }
        return number
    }

    /// Replaces the seals of the versions that are kept, and removes those of which there are none.
    ///
    /// - Returns: `false`: `all` are not those that are kept, or not as they are now.
    func replaceSeals(
        of all: [ProjectVersion], with versions: [StoredProjects], by credential: CredentialUse, at now: Timestamp
    ) throws -> Bool {
        guard try self.versions() == all else { return false }
        let kept = Set(versions.map(\.version.number))
        for version in all where !kept.contains(version.number) {
            let removal = try db.statement(Self.singleRemoval)
            removal.bind(version.number)
            try removal.run()
        }
        for stored in versions {
            let head = try db.statement(Self.keyChange)
            head.bind(blob: stored.version.keyCheck)
            head.bind(stored.version.number)
            try head.run()
            for project in stored.projects {
                let row = try db.statement(Self.sealChange)
                row.bind(blob: project.sealed)
                row.bind(stored.version.number)
                row.bind(project.id.rawValue)
                try row.run()
            }
        }
        let newest = versions.max { $0.version.number < $1.version.number }
        for project in newest?.projects ?? [] {
            let details = ["version": String(newest?.version.number ?? 0)]
            try audit(.projectResealed, project.id, details, credential, at: now)
        }
        return true
    }

    private func audit(
        _ action: AuditAction, _ project: ProjectID, _ details: [String: String], _ credential: CredentialUse,
        at now: Timestamp
    ) throws {
        try AuditLogTable(db: db).add(
            AuditEntry(
                time: now, project: project, action: action, subject: project.rawValue, details: details,
                credential: credential))
    }
}
