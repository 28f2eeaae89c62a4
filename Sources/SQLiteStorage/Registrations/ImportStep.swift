import Foundation
import GRDB
package import PushModel
package import Store

extension SQLiteStore {
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
        try await write(rows: rows.count) { db in
            var importer = try RegistrationImporter(db: db, project: project, time: time, credential: credential)
            var refused: [Int: ImportRefusal] = [:]
            for (index, row) in rows.enumerated() { refused[index] = try importer.take(row) }
            try importer.finish()
            var position = position
            position.imported += Int64(rows.count - refused.count)
            position.rejected += Int64(refused.count)
            try importer.keep(position, of: source)
            return refused
        }
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
        try await write { db in
            _ = try db.change("DELETE FROM import_position WHERE source = ?", [source])
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

/// Takes rows of an import within one transaction.
struct RegistrationImporter {
    private let db: Database
    private let project: ProjectID
    private let time: Timestamp
    private let credential: ProvenCredential
    private let registrations: RegistrationTable
    private var apps: [AppKey: Int64] = [:]
    private var subscriptions: SubscriptionBatch
    private let insertion: Statement
    private let byAddress: Statement
    private let isTaken: Statement

    init(db: Database, project: ProjectID, time: Timestamp, credential: CredentialUse) throws {
        self.db = db
        self.credential = ProvenCredential(credential, proofs: ["import"])
        self.project = project
        self.time = time
        registrations = RegistrationTable(db: db)
        subscriptions = SubscriptionBatch(db: db)
        insertion = try db.cachedStatement(sql: RegistrationTable.insertion)
        byAddress = try db.cachedStatement(sql: RegistrationTable.byAddress)
        isTaken = try db.cachedStatement(sql: InstallationTable.isTaken)
    }

    /// Takes one; `nil`: done.
    mutating func take(_ row: ImportedRegistration) throws -> ImportRefusal? {
        guard row.topics.count <= Topic.limitPerRegistration else { return .tooManyTopics }
        let app = try id(of: AppKey(row.address.platform, row.app))
        let holder = try Int64.fetchOne(byAddress, arguments: [app, Data(row.address.identity)])
        if let holder { return try update(registrations.existing(RegistrationKey(rawValue: holder)), row) }
        return try insert(row, app)
    }

    mutating func finish() throws {
        try subscriptions.finish()
    }

    func keep(_ position: ImportPosition, of source: String) throws {
        try db.change(
            """
            INSERT INTO import_position (source, fingerprint, line, offset, imported, rejected)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (source) DO UPDATE SET fingerprint = excluded.fingerprint, line = excluded.line,
                offset = excluded.offset, imported = excluded.imported, rejected = excluded.rejected
            """,
            [source, position.fingerprint, position.line, position.offset, position.imported, position.rejected])
    }

    private mutating func insert(_ row: ImportedRegistration, _ app: Int64) throws -> ImportRefusal? {
        if let id = row.id ?? row.token?.id {
            if try Int64.fetchOne(isTaken, arguments: [id.rawValue, project.rawValue]) != 0 { return .idTaken }
        }
        if let token = row.token, token.id == nil, try isForeignTokenTaken(token) { return .tokenTaken }
        let new = try NewRegistration(row, app: app, at: time)
        try insertion.execute(arguments: new.arguments)
        let key = RegistrationKey(rawValue: db.lastInsertedRowID)
        if let user = new.user {
            try AuditTable(db: db, time: time, credential: credential).add(
                .userAssigned, app, new.id, user, former: nil)
        }
        var names: Set<Topic> = []
        for topic in row.topics where names.insert(topic.topic).inserted {
            try subscriptions.subscribe(
                new: key, of: project, to: topic.topic, at: topic.createdAt ?? new.createdAt)
        }
        return nil
    }

    private mutating func update(_ current: Registration, _ row: ImportedRegistration) throws -> ImportRefusal? {
        if let id = row.id ?? row.token?.id, id != current.id { return .otherID(current.id) }
        if let token = row.token, token != current.token { return .otherToken }
        let names = row.id != nil || row.token != nil
        if let user = row.user, let before = current.user, user != before, names { return .otherUser }
        guard try hasRoom(for: row.topics, current.key) else { return .tooManyTopics }
        let refreshedAt = row.refreshedAt ?? row.createdAt ?? time
        // What the store knows better than an old file stays.
        let isNewer = refreshedAt >= current.refreshedAt
        var change = RegistrationChange()
        if isNewer {
            change.address = .address(row.address)
            change.appVersion = row.appVersion
            change.owner = row.user.map(RegistrationOwner.user)
            change.credential = credential
        }
        var now = current
        if isNewer, refreshedAt > current.refreshedAt || changes(current, change) {
            // A device of another user gets a new registration; the subscriptions of the old one end.
            if let owner = change.owner, owner.user != current.user { try subscriptions.finish() }
            now = try registrations.change(current, change, at: refreshedAt, auditedAt: time)
        }
        for topic in row.topics {
            let since = topic.createdAt ?? row.createdAt ?? refreshedAt
            _ = try subscriptions.subscribe(now.key, to: topic.topic, at: since)
        }
        return nil
    }

    /// Asked before anything is changed: a row goes in whole or not at all.
    private func hasRoom(for topics: [ImportedTopic], _ key: RegistrationKey) throws -> Bool {
        guard !topics.isEmpty else { return true }
        let count = try db.number(SubscriptionBatch.count, [key.rawValue]) ?? 0
        if Int(count) + topics.count <= Topic.limitPerRegistration { return true }
        let new = try Set(topics.map(\.topic)).filter { topic in
            try db.number(TopicTable.subscription, [key.rawValue, topic.rawValue, key.rawValue]) == nil
        }
        return Int(count) + new.count <= Topic.limitPerRegistration
    }

    private func changes(_ current: Registration, _ change: RegistrationChange) -> Bool {
        if let owner = change.owner, owner.user != current.user { return true }
        if let address = change.address, address.applied(to: current.address) != current.address { return true }
        return change.appVersion != nil && change.appVersion != current.appVersion
    }

    private func isForeignTokenTaken(_ token: RegistrationToken) throws -> Bool {
        try db.number(
            """
            SELECT 1 FROM registration INDEXED BY registration_foreign_token
            WHERE typeof(token) = 'text' AND substr(token, 1, 1) <> ':' AND token = ?
            """, [token.rawValue]) != nil
    }

    private mutating func id(of app: AppKey) throws -> Int64 {
        if let known = apps[app] { return known }
        let id = try AppTable(db: db).id(project, app)
        apps[app] = id
        return id
    }
}
