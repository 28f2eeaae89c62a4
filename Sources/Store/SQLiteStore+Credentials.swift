import Foundation
import GRDB
public import PushModel

extension SQLiteStore: CredentialStore {
    /// Keeps a new key; an id that is taken throws `.failed`.
    public func insert(_ key: APIKeyRecord) async throws(StoreError) {
        _ = try await write { db in
            try db.change(
                """
                INSERT INTO api_key (id, project, role, digest, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?)
                """,
                [
                    key.id, key.project.rawValue, key.role.rawValue, Data(key.digest), key.createdAt.milliseconds,
                    key.revokedAt?.milliseconds,
                ])
        }
    }

    /// One key in a fresh snapshot, so that what other processes committed is seen.
    public func apiKey(_ id: String) async throws(StoreError) -> APIKeyRecord? {
        try await lookUp { db in
            try db.row("SELECT \(APIKeyRecord.columns) FROM api_key WHERE id = ?", [id])
                .map { try APIKeyRecord(row: $0) }
        }
    }

    /// All keys of a project, or of all projects, the oldest first.
    public func apiKeys(of project: ProjectID?) async throws(StoreError) -> [APIKeyRecord] {
        try await read { db in
            let all = "SELECT \(APIKeyRecord.columns) FROM api_key"
            let rows =
                if let project {
                    try Row.fetchAll(db, sql: all + " WHERE project = ? ORDER BY seq", arguments: [project.rawValue])
                } else {
                    try Row.fetchAll(db, sql: all + " ORDER BY seq")
                }
            return try rows.map { try APIKeyRecord(row: $0) }
        }
    }

    /// Revokes a key; a second time keeps the first time.
    public func revoke(_ id: String, at time: Timestamp) async throws(StoreError) -> Bool {
        try await write { db in
            try db.change(
                "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", [time.milliseconds, id]) > 0
        }
    }
}

extension APIKeyRecord {
    fileprivate static let columns = "id, project, role, digest, created_at, revoked_at"

    fileprivate init(row: Row) throws {
        self.init(
            id: row[0], project: try ProjectID(stored: row[1]), role: try Role(storedCase: row[2]),
            digest: [UInt8](row[3] as Data), createdAt: Timestamp(milliseconds: row[4]),
            revokedAt: Timestamp(stored: row[5]))
    }
}
