import PushModel
import Store

/// Takes rows of an import within one transaction. Nearly every row is new, so it is inserted first, and looked up if
/// something has its address, FID or token already.
struct RegistrationImporter {
    private let db: any Database
    private let project: ProjectID
    private let time: Timestamp
    private let credential: ProvenCredential
    private let registrations: RegistrationTable
    private var app: (key: AppKey, id: Int64)?
    /// Whether something that the unique indexes of registrations do not show may have a FID: another app of the project,
    /// or an installation.
    private var sharesIDs: Bool
    private var subscriptions: SubscriptionBatch
    private var inserted: InsertedRegistrations
    /// The users of registrations of one app that came in together.
    private var users: [(id: RegistrationID, user: UserID)] = []
    private let insertion: any PreparedStatement
    private let isTaken: any PreparedStatement

    static let insertion = RegistrationTable.insertion + RowBatch.unlessThere
    static let sharesIDs = """
        SELECT EXISTS (SELECT 1 FROM installation) OR (SELECT count(*) FROM app WHERE project = ?) > 1
        """

    init(db: any Database, project: ProjectID, time: Timestamp, credential: CredentialUse) throws {
        self.db = db
        self.credential = ProvenCredential(credential, proofs: ["import"])
        self.project = project
        self.time = time
        registrations = RegistrationTable(db: db)
        subscriptions = SubscriptionBatch(db: db, at: time)
        inserted = InsertedRegistrations(db: db)
        insertion = try db.insertion(Self.insertion, key: "key")
        isTaken = try db.statement(InstallationTable.isTaken)
        sharesIDs = try db.number(Self.sharesIDs, [project.rawValue]) != 0
    }

    /// Takes the rows of a chunk.
    ///
    /// - Returns: why rows are not taken, by their places.
    mutating func take(_ rows: [ImportedRegistration], in order: ImportOrder) throws -> [Int: ImportRefusal] {
        var refused: [Int: ImportRefusal] = [:]
        guard db.dialect.joinsRows, !order.isBinding else {
            for place in order.places {
                if let refusal = try take(rows[place]) { refused[place] = refusal }
            }
            return refused
        }
        let rest = try insertTogether(rows, order)
        for (place, isInConflict) in rest {
            if let refusal = try take(rows[place], isInConflict: isInConflict) { refused[place] = refusal }
        }
        return refused
    }

    /// Inserts rows, as far as they conflict neither with each other nor with what is stored.
    ///
    /// - Returns: the places of the others, and whether they conflict with what is stored.
    private mutating func insertTogether(
        _ rows: [ImportedRegistration], _ order: ImportOrder
    ) throws -> [(place: Int, isInConflict: Bool)] {
        var rest: [(place: Int, isInConflict: Bool)] = []
        var (apps, places, ids): ([AppKey], [AppKey: [Int]], Set<String>) = ([], [:], [])
        for place in order.places {
            let row = rows[place]
            guard row.topics.count <= Topic.limitPerRegistration, let names = row.names,
                ids.insert(names.id.rawValue).inserted
            else {
                rest.append((place, false))
                continue
            }
            let app = AppKey(row.address.platform, row.app)
            if places[app] == nil { apps.append(app) }
            places[app, default: []].append(place)
        }
        try subscriptions.find(Set(places.values.joined().flatMap { rows[$0].topics.lazy.map(\.topic) }), of: project)
        for key in apps {
            let app = try id(of: key)
            var waiting = places[key, default: []][...]
            while !waiting.isEmpty {
                let new = try waiting.prefix(RowBatch.limit).map { place in
                    let names = try rows[place].names ?? RegistrationNames(of: rows[place])
                    return (place, NewRegistration(rows[place], names, in: project, app: app, at: time))
                }
                rest += try insert(new, of: rows).map { ($0, true) }
                waiting = waiting.dropFirst(RowBatch.limit)
            }
            try audit.add(usersOfNew: users, app, key, of: project)
            users.removeAll(keepingCapacity: true)
        }
        return rest
    }

    /// Inserts rows of one app.
    ///
    /// - Returns: the places of those that conflict with what is stored.
    private mutating func insert(
        _ batch: [(place: Int, new: NewRegistration)], of rows: [ImportedRegistration]
    ) throws -> [Int] {
        let together = NewRegistrations(db: db, project: project, sharesIDs: sharesIDs)
        let numbers = try together.insert(batch.map(\.new))
        var rest: [Int] = []
        for ((place, new), number) in zip(batch, numbers) {
            guard let number else {
                rest.append(place)
                continue
            }
            if let user = new.user { users.append((new.id, user)) }
            try note(new, RegistrationKey(rawValue: number), rows[place])
        }
        return rest
    }

    private var audit: AuditTable { AuditTable(db: db, time: time, credential: credential) }

    /// Takes one; `nil`: done.
    ///
    /// - Parameter isInConflict: whether it was found that something has its address, FID or token.
    private mutating func take(
        _ row: ImportedRegistration, isInConflict: Bool = false
    ) throws -> ImportRefusal? {
        guard row.topics.count <= Topic.limitPerRegistration else { return .tooManyTopics }
        let app = try id(of: AppKey(row.address.platform, row.app))
        if !isInConflict, try insert(row, app) { return nil }
        if let holder = try registrations.active(app, row.address) {
            return try update(registrations.existing(holder), row)
        }
        if row.id ?? row.token?.id != nil { return .idTaken }
        if row.token != nil { return .tokenTaken }
        // A random FID that is taken.
        var row = row
        row.names = nil
        return try insert(row, app) ? nil : .idTaken
    }

    /// Writes what the rows have together. To be called before the transaction ends.
    mutating func finish() throws {
        try subscriptions.finish()
        try inserted.finish()
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

    /// Inserts one with its topics; `false`: something has its address, FID or token.
    private mutating func insert(_ row: ImportedRegistration, _ app: Int64) throws -> Bool {
        let names = try row.names ?? RegistrationNames(of: row)
        if sharesIDs, try isTaken(names.id) { return false }
        let new = NewRegistration(row, names, in: project, app: app, at: time)
        new.bind(to: insertion, db.dialect)
        guard let number = try insertion.insert() else { return false }
        if let user = new.user { try audit.add(.userAssigned, new.app, new.id, user, former: nil) }
        try note(new, RegistrationKey(rawValue: number), row)
        return true
    }

    /// What comes with a row that was inserted.
    private mutating func note(_ new: NewRegistration, _ key: RegistrationKey, _ row: ImportedRegistration) throws {
        try inserted.add(new, key)
        var seen: Set<Topic> = []
        for topic in row.topics where row.topics.count == 1 || seen.insert(topic.topic).inserted {
            try subscriptions.subscribe(
                new: key, of: project, to: topic.topic, at: topic.createdAt ?? new.createdAt)
        }
    }

    private func isTaken(_ id: RegistrationID) throws -> Bool {
        isTaken.bind(id.rawValue)
        isTaken.bind(project.rawValue)
        return try isTaken.first { $0.number(0) } != 0
    }

    private mutating func update(_ current: Registration, _ row: ImportedRegistration) throws -> ImportRefusal? {
        try subscriptions.insertWaiting()
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
            // A device of another user gets a new registration; the old one ends with its subscriptions.
            if let owner = change.owner, owner.user != current.user { try finish() }
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

    private mutating func id(of key: AppKey) throws -> Int64 {
        if let app, app.key == key { return app.id }
        let id = try AppTable(db: db).id(project, key)
        app = (key, id)
        sharesIDs = try db.number(Self.sharesIDs, [project.rawValue]) != 0
        return id
    }
}
