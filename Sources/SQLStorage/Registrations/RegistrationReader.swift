package import PushModel
package import Store

extension SQLStore {
    /// So many names are looked up in one snapshot: a long list must not keep one for long.
    private static let lookupLimit = 500

    /// Registrations by FID or token, one statement each; hundreds share a snapshot.
    package func registrations(
        named names: [RegistrationReference], in project: ProjectID
    ) async throws(StoreError) -> [Registration?] {
        var found: [Registration?] = []
        found.reserveCapacity(names.count)
        while found.count < names.count {
            let part = names[found.count..<min(found.count + Self.lookupLimit, names.count)]
            found += try await read { db in
                let table = RegistrationTable(db: db)
                return try part.map { name in
                    switch name {
                    case .id(let id): try table.find(id, in: project)
                    case .token(let token): try table.find(token, in: project)
                    }
                }
            }
        }
        return found
    }

    /// By the unique index of active addresses.
    package func registration(
        holding address: Address, of app: AppID, in project: ProjectID
    ) async throws(StoreError) -> Registration? {
        try await lookUp { db in
            guard let app = try AppTable(db: db).find(project, AppKey(address.platform, app)) else { return nil }
            let table = RegistrationTable(db: db)
            return try table.active(app, address).flatMap { try table.find($0) }
        }
    }

    /// The projects of tokens, one statement each; hundreds share a snapshot.
    package func projects(of tokens: [RegistrationToken]) async throws(StoreError) -> [ProjectID?] {
        var found: [ProjectID?] = []
        found.reserveCapacity(tokens.count)
        while found.count < tokens.count {
            let part = tokens[found.count..<min(found.count + Self.lookupLimit, tokens.count)]
            found += try await read { db in try part.map { try RegistrationTable(db: db).project(of: $0) } }
        }
        return found
    }

    /// Active registrations of a user, by the index of users.
    package func registrations(
        of user: UserID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [Registration] {
        try await read { db in try RegistrationReader(db: db, project: project).of(user, after: 0, limit: limit) }
    }

    /// A page of registrations.
    package func registrations(
        in project: ProjectID, _ filter: RegistrationFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Registration> {
        let last = try cursor.map { text throws(StoreError) in
            try PageCursor(text: text, of: .registrations).last
        }
        return try await read { db in
            try RegistrationReader(db: db, project: project).page(filter, after: last ?? 0, limit: limit)
        }
    }

    /// Entries of the audit, by its two indexes.
    package func audit(
        of id: RegistrationID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [RegistrationAudit] {
        try await read { db in try AuditTable(db: db).of(id, in: project, limit: limit) }
    }

    /// Finds what can go beside the writer, then removes it in one transaction.
    package func purge(endedBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        let purge = RegistrationPurge(time: time, limit: limit)
        let keys = try await read { db in try purge.candidates(db) }
        return try await write(rows: keys.count) { db in
            try purge.purgeAudit(db)
            return try purge.remove(keys, db)
        }
    }

    /// How long entries of the audit are kept beyond the registrations.
    static let auditDays: Int64 = 365
}

/// Reads a project's registrations in the order of keys, within one snapshot.
struct RegistrationReader {
    let db: any Database
    let project: ProjectID

    /// Registrations looked at for one page of a list.
    static let lookLimit = 10_000

    static let active = """
        SELECT \(Registration.columnsWithoutNames) FROM registration r INDEXED BY registration_by_app
        WHERE r.app = ?1 AND r.ended_at IS NULL AND r.channel < 4 AND r.key > ?2 ORDER BY r.key LIMIT ?3
        """
    static let quarantined = """
        SELECT \(Registration.columnsWithoutNames) FROM registration r INDEXED BY registration_quarantined
        WHERE r.app = ?1 AND r.quarantined_at IS NOT NULL AND r.ended_at IS NULL AND r.key > ?2
        ORDER BY r.key LIMIT ?3
        """
    static let ofUser = """
        SELECT \(Registration.columnsWithoutNames) FROM registration r INDEXED BY registration_by_user
        WHERE r.user = ?4 AND r.app = ?1 AND r.ended_at IS NULL AND r.key > ?2 ORDER BY r.key LIMIT ?3
        """

    /// Active registrations of a user with keys after `key`.
    func of(_ user: UserID, after key: Int64, limit: Int) throws -> [Registration] {
        try merged(Self.ofUser, after: key, limit: limit, [user.rawValue])
    }

    /// Active registrations with keys after `key`.
    func active(after key: Int64, limit: Int) throws -> [Registration] {
        try merged(Self.active, after: key, limit: limit)
    }

    func page(_ filter: RegistrationFilter, after key: Int64, limit: Int) throws -> ResultPage<Registration> {
        guard limit > 0 else { return ResultPage(elements: [], nextCursor: nil) }
        switch filter {
        case .active: return full(try merged(Self.active, after: key, limit: limit + 1), limit)
        case .quarantined: return full(try merged(Self.quarantined, after: key, limit: limit + 1), limit)
        case .user(let user): return full(try of(user, after: key, limit: limit + 1), limit)
        case .stale(let time):
            let seen = try merged(Self.active, after: key, limit: Self.lookLimit)
            var page = full(seen.filter { $0.refreshedAt < time }, limit)
            // The next page begins after all that were looked at.
            if page.nextCursor == nil, seen.count == Self.lookLimit, let last = seen.last {
                page.nextCursor = PageCursor(.registrations, after: last.key.rawValue).text
            }
            return page
        }
    }

    /// Rows of all apps of the project in the order of their keys; each app's come in that order by themselves.
    private func merged(
        _ sql: String, after key: Int64, limit: Int, _ more: SQLArguments = []
    ) throws -> [Registration] {
        var names = AppNames(db: db)
        var found: [Registration] = []
        let apps = try AppTable(db: db).ids(of: project)
        for app in apps {
            let first: SQLArguments = [app, key, limit]
            let rows = try db.cursor(sql, first + more)
            while let row = try rows.next() { found.append(try names.registration(row)) }
        }
        if apps.count > 1 { found.sort { $0.key < $1.key } }
        return Array(found.prefix(limit))
    }

    private func full(_ found: [Registration], _ limit: Int) -> ResultPage<Registration> {
        let page = Array(found.prefix(limit))
        let next = found.count > limit ? page.last.map { PageCursor(.registrations, after: $0.key.rawValue).text } : nil
        return ResultPage(elements: page, nextCursor: next)
    }
}
