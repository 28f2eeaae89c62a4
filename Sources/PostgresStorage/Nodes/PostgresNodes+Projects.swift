import PushModel
import SQLStorage
package import Store

extension PostgresNodes: ProjectStore {
    package func storedProjects() async throws(StoreError) -> StoredProjects? {
        try await read { db in
            let table = ProjectTable(db: db)
            return try table.projects(of: try table.newest())
        }
    }

    package func storedProjects(version: Int64) async throws(StoreError) -> StoredProjects? {
        try await read { db in try ProjectTable(db: db).projects(of: version) }
    }

    package func projectVersions() async throws(StoreError) -> [ProjectVersion] {
        try await read { db in try ProjectTable(db: db).versions() }
    }

    package func store(_ version: NewProjectVersion) async throws(StoreError) -> Int64? {
        try await write { db, now in
            guard let number = try ProjectTable(db: db).insert(version, at: now) else { return nil }
            try Self.tell(db)
            return number
        }
    }

    package func replaceSeals(
        of all: [ProjectVersion], with versions: [StoredProjects], by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        try await write { db, now in
            guard try ProjectTable(db: db).replaceSeals(of: all, with: versions, by: credential, at: now) else {
                return false
            }
            try Self.tell(db)
            return true
        }
    }

    package func note(_ standing: ProjectStanding, ofNode number: Int64) async throws(StoreError) {
        try await write { db, _ in try NodeTable(db: db).note(standing, of: number) }
    }

    /// Tells all nodes with the commit: who stores projects is a command, which has no connection that listens. Rare, so that
    /// the lock of NOTIFY holds up no writes.
    private static func tell(_ db: any Database) throws {
        let notice = try db.statement("SELECT pg_notify('\(channel)', '\(notice)')")
        _ = try notice.next()
        notice.reset()
    }
}
