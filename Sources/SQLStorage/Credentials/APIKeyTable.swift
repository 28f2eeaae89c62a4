package import PushModel
package import Store

extension SQLStore: CredentialStore {
    /// Keeps a new key with its audit entry; an id that is taken throws `.failed`.
    package func insert(_ key: APIKeyRecord, by credential: CredentialUse) async throws(StoreError) {
        try await write(telling: .keys) { db in
            try db.change(
                """
                INSERT INTO api_key (\(APIKeyRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    key.id, key.project.rawValue, key.role.rawValue, key.digest, key.createdAt.milliseconds,
                    key.revokedAt?.milliseconds, key.name, key.expiresAt?.milliseconds, key.lastUsedAt?.milliseconds,
                ])
            var details = ["role": key.role.rawValue]
            details["name"] = key.name
            details["expireTime"] = key.expiresAt?.rfc3339
            try AuditLogTable(db: db).add(
                AuditEntry(
                    time: key.createdAt, project: key.project, action: .keyCreated, subject: key.id, details: details,
                    credential: credential))
        }
    }

    /// One key in a fresh snapshot, so that what other processes committed is seen.
    package func apiKey(_ id: String) async throws(StoreError) -> APIKeyRecord? {
        try await lookUp { db in
            try db.row("SELECT \(APIKeyRecord.columns) FROM api_key WHERE id = ?", [id])
                .map { try APIKeyRecord(row: $0) }
        }
    }

    /// All keys of a project, or of all projects, the oldest first.
    package func apiKeys(of project: ProjectID?) async throws(StoreError) -> [APIKeyRecord] {
        try await read { db in
            let all = "SELECT \(APIKeyRecord.columns) FROM api_key"
            let rows =
                if let project {
                    try db.rows(all + " WHERE project = ? ORDER BY seq", [project.rawValue])
                } else {
                    try db.rows(all + " ORDER BY seq")
                }
            return try rows.map { try APIKeyRecord(row: $0) }
        }
    }

    /// Revokes a key with its audit entry; a second time changes and notes nothing.
    package func revoke(
        _ id: String, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write(telling: .keys) { db in
            guard let row = try db.row("SELECT project, name, revoked_at FROM api_key WHERE id = ?", [id]) else {
                return false
            }
            guard (row[2] as Int64?) == nil else { return true }
            try db.change("UPDATE api_key SET revoked_at = ? WHERE id = ?", [time.milliseconds, id])
            try AuditLogTable(db: db).add(
                AuditEntry(
                    time: time, project: try ProjectID(stored: row[0]), action: .keyRevoked, subject: id,
                    details: (row[1] as String?).map { ["name": $0] } ?? [:], credential: credential))
            return true
        }
    }

    /// A look at the primary key for each, in one transaction.
    package func noteUse(of keys: [String: Timestamp]) async throws(StoreError) {
        try await write { db in
            for (id, time) in keys {
                try db.change(
                    """
                    UPDATE api_key SET last_used_at = ?1
                    WHERE id = ?2 AND (last_used_at IS NULL OR last_used_at < ?1)
                    """,
                    [time.milliseconds, id])
            }
        }
    }
}

extension APIKeyRecord {
    fileprivate static let columns = "id, project, role, digest, created_at, revoked_at, name, expires_at, last_used_at"

    fileprivate init(row: Row) throws {
        self.init(
            id: row[0], project: try ProjectID(stored: row[1]), role: try Role(storedCase: row[2]),
            digest: row[3] as [UInt8], createdAt: Timestamp(milliseconds: row[4]),
            revokedAt: Timestamp(stored: row[5]), name: row[6], expiresAt: Timestamp(stored: row[7]),
            lastUsedAt: Timestamp(stored: row[8]))
    }
}
