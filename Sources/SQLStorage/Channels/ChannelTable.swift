import PushModel
import Store

/// The broadcast channels within one transaction.
struct ChannelTable {
    let db: any Database

    private static let columns = """
        c.key, c.name, c.policy, c.created_at, c.id, c.lost_at, r.fid, c.environment, a.project, a.name
        """
    private static let tables = """
        channel c CROSS JOIN app a ON a.id = c.app LEFT JOIN registration r ON r.key = c.registration
        """
    static let byName = "SELECT \(columns) FROM \(tables) WHERE c.app = ? AND c.environment = ? AND c.name = ?"
    static let byRegistration = """
        SELECT \(columns) FROM registration r CROSS JOIN channel c ON c.registration = r.key
        CROSS JOIN app a ON a.id = c.app WHERE r.fid = ? AND a.project = ?
        """
    static let page = """
        SELECT \(columns) FROM \(tables) WHERE c.app = ? AND c.environment = ? AND c.key > ? ORDER BY c.key LIMIT ?
        """
    static let homes = """
        SELECT DISTINCT a.name, c.environment FROM channel c CROSS JOIN app a ON a.id = c.app
        WHERE a.project = ? ORDER BY a.name, c.environment
        """
    static let count = "SELECT count(*) FROM channel WHERE app = ? AND environment = ?"
    static let insertion = """
        INSERT INTO channel (app, environment, name, policy, created_at) VALUES (?, ?, ?, ?, ?)
        """
    static let completion =
        "UPDATE channel SET id = ?1, registration = ?2, created_at = greatest(created_at, ?4) WHERE key = ?3 AND id IS NULL"
    static let active = """
        SELECT \(columns) FROM \(tables)
        WHERE c.app = ? AND c.environment = ? AND c.id IS NOT NULL AND c.lost_at IS NULL
        """
    static let byID = "SELECT \(columns) FROM \(tables) WHERE c.app = ? AND c.environment = ? AND c.id = ?"
    static let removal = "DELETE FROM channel WHERE key = ?"

    /// The number of the app of a home; `nil`: it has nothing yet.
    func app(of home: ChannelHome) throws -> Int64? {
        try AppTable(db: db).find(home.project, AppKey(.apple, home.app))
    }

    /// The channel of a name, and its key.
    func find(_ name: ChannelName, in home: ChannelHome) throws -> (key: Int64, channel: BroadcastChannel)? {
        guard let app = try app(of: home) else { return nil }
        return try db.row(Self.byName, [app, home.environment.code, name.rawValue]).map {
            ($0[0], try BroadcastChannel(row: $0))
        }
    }

    func note(
        _ name: ChannelName, in home: ChannelHome, _ policy: StoragePolicy, at time: Timestamp, limit: Int
    ) throws -> ChannelIntent {
        if let (key, channel) = try find(name, in: home) {
            if channel.state == .active { return .exists(channel) }
            try db.change(Self.removal, [key])
        }
        let app = try AppTable(db: db).id(home.project, AppKey(.apple, home.app))
        let count = Int(try db.number(Self.count, [app, home.environment.code]) ?? 0)
        guard count < limit else { return .full(count: count) }
        try db.change(
            Self.insertion, [app, home.environment.code, name.rawValue, policy.code, time.milliseconds])
        return .noted
    }

    func complete(
        _ name: ChannelName, in home: ChannelHome, id: ChannelID, at time: Timestamp
    ) throws -> ChannelCompletion {
        guard let (key, channel) = try find(name, in: home), channel.state == .creating,
            let app = try app(of: home)
        else { return .notNoted }
        if let row = try db.row(Self.byID, [app, home.environment.code, id.rawValue]) {
            let former = try BroadcastChannel(row: row)
            guard former.state != .active else { return .idTaken(former.name) }
            try db.change(Self.removal, [row[0] as Int64])
        }
        let address = Address.broadcast(
            BroadcastAddress(id: id, environment: home.environment, storagePolicy: channel.storagePolicy))
        let request = RegistrationRequest(
            project: home.project, app: home.app, address: address, appVersion: nil)
        var new = try NewRegistration(request, id: .randomOfChannel(), app: app, at: time)
        // Nothing about it is in doubt: the service itself named it.
        new.provenAt = time
        let registration = try RegistrationTable(db: db).insert(new)
        try db.change(Self.completion, [id.rawValue, registration.key.rawValue, key, time.milliseconds])
        guard let made = try find(name, in: home)?.channel else { return .notNoted }
        return .active(made)
    }

    func compare(
        in home: ChannelHome, with ids: [ChannelID], at time: Timestamp
    ) throws -> (missing: [BroadcastChannel], active: Int, unknown: [ChannelID]) {
        guard let app = try app(of: home) else { return ([], 0, ids) }
        let rows = try db.rows(Self.active, [app, home.environment.code])
        let active = try rows.map { try BroadcastChannel(row: $0) }
        let listed = Set(ids)
        let known = Set(active.compactMap(\.id))
        return (
            active.filter { channel in channel.createdAt < time && channel.id.map { !listed.contains($0) } ?? false },
            active.count, ids.filter { !known.contains($0) }
        )
    }

    func lose(_ channels: [BroadcastChannel], at time: Timestamp) throws -> [ChannelName] {
        var lost: [ChannelName] = []
        for channel in channels {
            guard let (key, now) = try find(channel.name, in: channel.home), now.state == .active, now.id == channel.id,
                let registration = try registration(of: key)
            else { continue }
            // The trigger does the rest.
            try RegistrationTable(db: db).end(registration, RegistrationEnd(time: time, cause: .unregistered))
            lost.append(channel.name)
        }
        return lost
    }

    private func registration(of key: Int64) throws -> RegistrationKey? {
        try db.number("SELECT registration FROM channel WHERE key = ?", [key]).map(RegistrationKey.init(rawValue:))
    }

    func remove(_ name: ChannelName, in home: ChannelHome, id: ChannelID?, at time: Timestamp) throws -> Bool {
        guard let (key, channel) = try find(name, in: home), channel.id == id else { return false }
        let registration = try registration(of: key)
        try db.change(Self.removal, [key])
        if let registration, channel.state == .active {
            try RegistrationTable(db: db).end(registration, RegistrationEnd(time: time, cause: .deleted))
        }
        return true
    }
}

extension BroadcastChannel {
    /// Reads the columns of ``ChannelTable``.
    init(row: Row) throws {
        let text: String? = row[4]
        let id = text.flatMap(ChannelID.init(rawValue:))
        guard (id == nil) == (text == nil) else { throw StoreError.invalid("a channel's id") }
        let lostAt = Timestamp(stored: row[5])
        let state: State =
            if id == nil { .creating } else if let lostAt { .lost(since: lostAt) } else { .active }
        self.init(
            home: ChannelHome(
                project: try ProjectID(stored: row[8]), app: try AppID(stored: row[9]),
                environment: try PushEnvironment(code: row[7])),
            name: try ChannelName(stored: row[1]), storagePolicy: try StoragePolicy(code: row[2]),
            createdAt: Timestamp(milliseconds: row[3]), id: id,
            registration: try (row[6] as String?).map { try RegistrationID(stored: $0) },
            state: state)
    }
}

extension StoragePolicy {
    /// The policy as a column holds it.
    var code: Int { self == .none ? 0 : 1 }

    /// The policy that a column holds.
    init(code: Int) throws {
        guard (0...1).contains(code) else { throw StoreError.invalid("a storage policy") }
        self = code == 0 ? .none : .mostRecent
    }
}

extension PushEnvironment {
    /// The environment as a column holds it.
    var code: Int { self == .production ? 0 : 1 }

    /// The environment that a column holds.
    init(code: Int) throws {
        guard (0...1).contains(code) else { throw StoreError.invalid("an environment") }
        self = code == 0 ? .production : .sandbox
    }
}
