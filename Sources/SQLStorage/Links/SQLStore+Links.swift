package import PushModel
package import Store

extension SQLStore: LinkStore {
    /// Makes a link in one transaction with its audit entry.
    package func create(_ link: NewLink, audit: AuditEntry?) async throws(StoreError) -> LinkCreation {
        let creation = try await write(rows: LinkTable.rowsOfLink) { db in
            let creation = try LinkTable(db: db).create(link)
            if case .created(let made) = creation { try AuditLogTable(db: db).add(audit, of: made.key) }
            return creation
        }
        if case .created = creation { linkClock.noteMade() }
        return creation
    }

    /// One link in a fresh snapshot.
    package func link(_ key: LinkKey) async throws(StoreError) -> Link? {
        try await lookUp { db in try LinkTable(db: db).find(key) }
    }

    /// Walks an index, a range for each prefix and visibility.
    package func links(
        of project: ProjectID, _ filter: LinkFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Link> {
        let before = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .links).last }
        return try await read { db in
            try LinkLists(db: db, project: project).page(filter, before: before ?? .max, limit: limit)
        }
    }

    /// Changes a link in one transaction with its audit entry.
    package func change(
        _ key: LinkKey, of project: ProjectID, _ change: LinkChange, audit: AuditEntry?
    ) async throws(StoreError) -> Link? {
        let result = try await write(rows: 3) { db in
            let result = try LinkTable(db: db).change(key, of: project, change)
            if let result, result.before != result.after { try AuditLogTable(db: db).add(audit, of: key) }
            return result
        }
        if let result, result.before != result.after { linkClock.noteChanged() }
        return result?.after
    }

    /// Reads the sum of one length.
    package func linkCount(
        of prefix: String, _ kind: LinkKind, suffixLength: Int
    ) async throws(StoreError) -> Int {
        try await lookUp { db in
            Int(try db.number(LinkTable.sum, [prefix, kind.rawValue, suffixLength]) ?? 0)
        }
    }

    /// Takes links over in one transaction, in the order of their suffixes.
    package func importLinks(_ links: [NewLink]) async throws(StoreError) -> [LinkImport] {
        let results = try await write(rows: links.count) { db in
            var importer = try LinkImporter(db: db)
            return try importer.take(links)
        }
        if results.contains(.created) { linkClock.noteMade() }
        do {
            try await engine.noteImport()
        } catch {
            throw engine.note(error, isWrite: true)
        }
        return results
    }

    /// Walks an index, a range for each prefix and visibility.
    package func exportLinks(
        of project: ProjectID, after id: LinkID, limit: Int
    ) async throws(StoreError) -> [Link] {
        try await read { db in try LinkLists(db: db, project: project).rows(after: id.rawValue, limit: limit) }
    }

    /// Two counters of the process.
    package var linkVersions: LinkVersions { linkClock.versions }

    /// As the engine counts them.
    package func otherCommits() async throws(StoreError) -> Int64 {
        do {
            return try await engine.otherCommits()
        } catch {
            throw engine.note(error, isWrite: false)
        }
    }

    /// Adds to the counters in one transaction.
    package func add(_ counts: [LinkCount]) async throws(StoreError) {
        try await write(rows: counts.count) { db in try LinkCountTable(db: db).add(counts) }
    }

    /// A range of the primary key.
    package func counts(of link: LinkID, days: ClosedRange<Int>) async throws(StoreError) -> [LinkCount] {
        try await read { db in try LinkCountTable(db: db).counts(of: link, days: days) }
    }

    /// A range of the table that has them by message, and one of counters for each.
    package func links(
        of message: MessageID, in project: ProjectID
    ) async throws(StoreError) -> [MessageLink] {
        try await read { db in try MessageLinkTable(db: db).links(of: message, in: project) }
    }

    /// Walks the index of days.
    package func forgetLinkCounts(before day: Int, limit: Int) async throws(StoreError) -> Int {
        try await write { db in try db.change(LinkCountTable.forget, [day, limit]) }
    }
}

extension AuditLogTable {
    /// Adds an entry about a link.
    fileprivate func add(_ entry: AuditEntry?, of link: LinkKey) throws {
        guard var entry else { return }
        entry.subject = link.name
        try add(entry)
    }
}
