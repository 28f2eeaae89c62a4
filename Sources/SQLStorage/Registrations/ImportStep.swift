package import PushModel
package import Store

extension SQLStore {
    /// Takes a chunk of an import in one transaction, but for what is refused. What is there already, by (project, app,
    /// address), is refreshed; its times only go forward, and it keeps topics that the row does not name.
    ///
    /// - Parameters:
    ///   - source: the name under which the position is kept.
    ///   - credential: who imports, for the audit.
    /// - Returns: why rows are not in the store, by their place in the chunk; the others are, with the position.
    package func importRegistrations(
        _ rows: [ImportedRegistration], into project: ProjectID, source: String, position: ImportPosition,
        at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> [Int: ImportRefusal] {
        let isFirst: Bool
        do {
            isFirst = try engine.beginImport()
        } catch {
            throw engine.note(error, isWrite: true)
        }
        let order = ImportOrder(rows)
        let refused = try await write(rows: rows.count) { [engine] db in
            if isFirst { try engine.prepareImport(db) }
            var importer = try RegistrationImporter(db: db, project: project, time: time, credential: credential)
            let refused = try importer.take(rows, in: order)
            try importer.finish()
            var position = position
            position.imported += Int64(rows.count - refused.count)
            position.rejected += Int64(refused.count)
            try importer.keep(position, of: source)
            return refused
        }
        do {
            try await engine.noteImport()
        } catch {
            throw engine.note(error, isWrite: true)
        }
        return refused
    }

    /// How far an import of `source` came; `nil` when none was broken off.
    package func importPosition(of source: String) async throws(StoreError) -> ImportPosition? {
        try await read { db in
            try db.row(
                "SELECT fingerprint, line, offset, imported, rejected FROM import_position WHERE source = ?", [source]
            ).map { row in
                var position = ImportPosition(fingerprint: row[0], line: row[1], offset: row[2])
                position.imported = row[3]
                position.rejected = row[4]
                return position
            }
        }
    }

    /// Forgets the position of an import that is done or begins anew.
    package func forgetImportPosition(of source: String) async throws(StoreError) {
        try await write { [engine] db in
            try db.change("DELETE FROM import_position WHERE source = ?", [source])
            try engine.endImport(db)
        }
    }

    /// A page of a project's active registrations with all that an import takes, in the order of their keys after `key`.
    /// Those of web apps are left out: a browser's subscription is no device token.
    ///
    /// - Returns: the rows, the key after which the next page begins, and whether there is none.
    package func exportRegistrations(
        of project: ProjectID, after key: RegistrationKey, limit: Int
    ) async throws(StoreError) -> (rows: [ImportedRegistration], last: RegistrationKey, isLast: Bool) {
        try await read { db in
            try RegistrationExporter(db: db, project: project).page(after: key.rawValue, limit: limit)
        }
    }

    /// How many active registrations a project has with keys after `key`; walks an index.
    package func activeRegistrations(
        of project: ProjectID, after key: RegistrationKey
    ) async throws(StoreError) -> Int {
        try await read { db in
            try AppTable(db: db).ids(of: project).reduce(0) { sum, app in
                sum + Int(try db.number(RegistrationExporter.count, [app, key.rawValue]) ?? 0)
            }
        }
    }
}
