import PushModel
import Store

/// The operators within one transaction.
struct OperatorTable {
    let db: any Database

    /// The row of an operator who is there, and not revoked.
    func active(_ name: OperatorName) throws -> Int64? {
        try db.number("SELECT seq FROM operator WHERE name = ? AND revoked_at IS NULL", [name.rawValue])
    }

    /// One operator, also a revoked one.
    func find(_ name: OperatorName) throws -> Operator? {
        try db.row("SELECT \(Self.columns) FROM operator WHERE name = ?", [name.rawValue]).map(value)
    }

    /// The operators of a project, or all, by name.
    func all(of project: ProjectID?) throws -> [Operator] {
        guard let project else {
            return try db.rows("SELECT \(Self.columns) FROM operator ORDER BY name").map(value)
        }
        let sql = """
            SELECT \(Self.columns) FROM operator
            WHERE seq IN (SELECT operator FROM operator_role WHERE project = ?) ORDER BY name
            """
        return try db.rows(sql, [project.rawValue]).map(value)
    }

    /// Makes an operator, or lets a revoked one sign in again; the row.
    func activate(_ name: OperatorName, at time: Timestamp) throws -> Int64 {
        try db.change(
            """
            INSERT INTO operator (name, created_at) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET revoked_at = NULL
            """, [name.rawValue, time.milliseconds])
        guard let row = try active(name) else { throw StoreError.invalid("an operator") }
        return row
    }

    /// Gives a role, with its audit entry; the operator's row.
    @discardableResult
    func grant(
        _ role: OperatorRole, in project: ProjectID, to name: OperatorName, at time: Timestamp,
        by credential: CredentialUse
    ) throws -> Int64 {
        let row = try activate(name, at: time)
        try db.change(
            """
            INSERT INTO operator_role (operator, project, role) VALUES (?, ?, ?)
            ON CONFLICT (operator, project) DO UPDATE SET role = excluded.role
            """, [row, project.rawValue, role.rawValue])
        try audit(.operatorGranted, name, in: [project], ["role": role.rawValue], at: time, by: credential)
        return row
    }

    /// Keeps a link that signs an operator in.
    func keep(_ link: SignInLink, of row: Int64) throws {
        try db.change(
            "INSERT INTO sign_in_link (digest, operator, expires_at) VALUES (?, ?, ?)",
            [link.digest, row, link.expiresAt.milliseconds])
    }

    /// Takes away everything that an operator signs in with.
    func revoke(_ row: Int64, at time: Timestamp) throws {
        try db.change(
            """
            UPDATE operator SET revoked_at = ?, password_hash = NULL, one_time_key = NULL, one_time_step = -1
            WHERE seq = ?
            """, [time.milliseconds, row])
        for table in ["sign_in_link", "operator_session", "composer_draft"] {
            try db.change("DELETE FROM \(table) WHERE operator = ?", [row])
        }
    }

    /// The projects in which an operator has a role.
    func projects(of row: Int64) throws -> [ProjectID] {
        try db.rows("SELECT project FROM operator_role WHERE operator = ? ORDER BY project", [row]).map {
            try ProjectID(stored: $0[0])
        }
    }

    /// Adds an audit entry in each of some projects.
    func audit(
        _ action: AuditAction, _ name: OperatorName, in projects: [ProjectID], _ details: [String: String] = [:],
        at time: Timestamp, by credential: CredentialUse
    ) throws {
        for project in projects {
            try AuditLogTable(db: db).add(
                AuditEntry(
                    time: time, project: project, action: action, subject: name.rawValue, details: details,
                    credential: credential))
        }
    }

    private static let columns = "seq, name, created_at, revoked_at, password_hash, one_time_key"

    private func value(_ row: Row) throws -> Operator {
        let roles = try db.rows("SELECT project, role FROM operator_role WHERE operator = ?", [row[0] as Int64])
        return Operator(
            name: try OperatorName(stored: row[1]),
            roles: Dictionary(
                uniqueKeysWithValues: try roles.map {
                    (try ProjectID(stored: $0[0]), try OperatorRole(storedCase: $0[1]))
                }),
            createdAt: Timestamp(milliseconds: row[2]), revokedAt: Timestamp(stored: row[3]), passwordHash: row[4],
            oneTimeKey: (row[5] as [UInt8]?))
    }
}
