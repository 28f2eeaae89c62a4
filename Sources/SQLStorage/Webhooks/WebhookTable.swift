import PushModel
import Store

/// The endpoints of webhooks within one transaction.
struct WebhookTable {
    let db: any Database

    private static let columns = """
        key, id, project, settings, state, revision, cursor, boundary, replay_cursor, replay_last, replay_types,
        replay_failed, attempts, next_attempt_at, failing_since, warned, created_at, changed_at
        """
    static let byID = "SELECT \(columns) FROM webhook WHERE id = ?"
    static let ofProject = "SELECT \(columns) FROM webhook INDEXED BY webhook_by_project WHERE project = ? ORDER BY key"
    static let all = "SELECT \(columns) FROM webhook ORDER BY key"
    static let count = "SELECT count(*) FROM webhook INDEXED BY webhook_by_project WHERE project = ?"
    static let secrets = """
        SELECT kind, bytes, created_at, expires_at FROM webhook_secret WHERE webhook = ? ORDER BY place
        """
    static let insertion = """
        INSERT INTO webhook (id, project, settings, state, cursor, created_at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    static let insertSecret = """
        INSERT INTO webhook_secret (webhook, place, kind, bytes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
        """
    static let removeSecrets = "DELETE FROM webhook_secret WHERE webhook = ?"
    static let removal = "DELETE FROM webhook WHERE key = ?"
    static let change = """
        UPDATE webhook SET settings = ?2, state = ?3, revision = revision + 1, changed_at = ?4 WHERE key = ?1
        """
    static let place = """
        UPDATE webhook SET cursor = greatest(cursor, ?2), boundary = ?3, replay_cursor = ?4, replay_last = ?5,
            replay_types = ?6, replay_failed = ?7, attempts = ?8, next_attempt_at = ?9, failing_since = ?10, warned = ?11
        WHERE key = ?1
        """
    static let advance = "UPDATE webhook SET cursor = greatest(cursor, ?2) WHERE key = ?1"
    static let disable = "UPDATE webhook SET state = 'AUTO_DISABLED', revision = revision + 1 WHERE key = ?"

    /// An endpoint and its key.
    typealias Found = (key: Int64, endpoint: WebhookEndpoint)

    func find(_ id: WebhookID, in project: ProjectID? = nil) throws -> Found? {
        guard let row = try db.row(Self.byID, [id.value.data]) else { return nil }
        let found = try read(row)
        return project == nil || project == found.endpoint.project ? found : nil
    }

    func list(of project: ProjectID?) throws -> [WebhookEndpoint] {
        let rows = try db.rows(project == nil ? Self.all : Self.ofProject, project.map { [$0.rawValue] } ?? [])
        return try rows.map { try read($0).endpoint }
    }

    func add(_ endpoint: WebhookEndpoint, limit: Int) throws -> Bool {
        guard Int(try db.number(Self.count, [endpoint.project.rawValue]) ?? 0) < limit else { return false }
        let key = try db.insert(
            Self.insertion,
            [
                endpoint.id.value.data, endpoint.project.rawValue, endpoint.settings.storedText,
                endpoint.state.rawValue, endpoint.position.cursor.rawValue, endpoint.createdAt.milliseconds,
                endpoint.changedAt.milliseconds,
            ], key: "key")
        try put(endpoint.secrets, of: key)
        return true
    }

    /// Applies a change.
    func change(_ found: Found, _ change: WebhookChange, at time: Timestamp) throws {
        let before = found.endpoint
        let (settings, state) = (change.settings ?? before.settings, change.state ?? before.state)
        try db.change(Self.change, [found.key, settings.storedText, state.rawValue, time.milliseconds])
        if let secrets = change.secrets { try put(secrets, of: found.key) }
        var position = before.position
        if settings.url != before.settings.url || state != before.state { position.nextAttemptAt = nil }
        if state == .enabled, before.state != .enabled {
            (position.attempts, position.failingSince, position.warned) = (0, nil, 0)
        }
        // A batch that was closed by other rules is made anew.
        if settings.filter != before.settings.filter || settings.types != before.settings.types {
            position.boundary = nil
        }
        if let replay = change.replay {
            position.replay = replay
            (position.attempts, position.nextAttemptAt) = (0, nil)
        }
        guard position != before.position else { return }
        try put(position, of: found.key)
    }

    /// Writes down a step of the endpoint's sender.
    func note(_ progress: WebhookProgress, _ found: Found, at time: Timestamp) throws {
        if let attempt = progress.attempt { try WebhookAttemptTable(db: db).add(attempt, of: found.key) }
        if let letter = progress.deadLetter { try WebhookAttemptTable(db: db).add(letter, of: found.key) }
        if let event = progress.revived { try db.change(WebhookAttemptTable.revive, [found.key, event.rawValue]) }
        guard found.endpoint.revision == progress.revision else {
            try db.change(Self.advance, [found.key, progress.position.cursor.rawValue])
            return
        }
        try put(progress.position, of: found.key)
        guard let notice = progress.notice else { return }
        if notice.isDisabled { try db.change(Self.disable, [found.key]) }
        try EventTable(db: db).add(.webhook(notice), of: found.endpoint.project, at: time)
    }

    private func put(_ position: WebhookPosition, of key: Int64) throws {
        let replay = position.replay
        let types = replay.map { $0.types.map(\.rawValue).joined(separator: ",") }
        try db.change(
            Self.place,
            [
                key, position.cursor.rawValue, position.boundary?.rawValue, replay?.cursor.rawValue,
                replay?.last.rawValue, types, replay?.isOnlyFailed, position.attempts,
                position.nextAttemptAt?.milliseconds, position.failingSince?.milliseconds, position.warned,
            ])
    }

    private func put(_ secrets: [WebhookSecret], of key: Int64) throws {
        try db.change(Self.removeSecrets, [key])
        for (place, secret) in secrets.enumerated() {
            try db.change(
                Self.insertSecret,
                [
                    key, place, secret.kind.rawValue, secret.bytes, secret.createdAt.milliseconds,
                    secret.expiresAt?.milliseconds,
                ])
        }
    }

    private func read(_ row: Row) throws -> Found {
        guard let id = SixteenBytes(row[1] as [UInt8]) else { throw StoreError.invalid("a webhook") }
        let key: Int64 = row[0]
        var position = WebhookPosition(cursor: EventNumber(rawValue: row[6]))
        position.boundary = (row[7] as Int64?).map(EventNumber.init(rawValue:))
        if let cursor: Int64 = row[8], let last: Int64 = row[9], let types: String = row[10] {
            position.replay = WebhookReplay(
                after: EventNumber(rawValue: cursor), upTo: EventNumber(rawValue: last),
                types: types.split(separator: ",").compactMap { EventType(rawValue: String($0)) },
                isOnlyFailed: (row[11] as Int?) == 1)
        }
        (position.attempts, position.warned) = (row[12], row[15])
        (position.nextAttemptAt, position.failingSince) = (Timestamp(stored: row[13]), Timestamp(stored: row[14]))
        let endpoint = WebhookEndpoint(
            id: WebhookID(id), project: try ProjectID(stored: row[2]),
            settings: try WebhookSettings(storedText: row[3]), state: try WebhookState(storedCase: row[4]),
            secrets: try secrets(of: key), position: position, revision: row[5],
            createdAt: Timestamp(milliseconds: row[16]), changedAt: Timestamp(milliseconds: row[17]))
        return (key, endpoint)
    }

    private func secrets(of key: Int64) throws -> [WebhookSecret] {
        try db.rows(Self.secrets, [key]).map { row in
            guard let kind = WebhookSecret.Kind(rawValue: row[0]) else {
                throw StoreError.invalid("a webhook's secret")
            }
            return WebhookSecret(
                kind: kind, bytes: row[1] as [UInt8], createdAt: Timestamp(milliseconds: row[2]),
                expiresAt: Timestamp(stored: row[3]))
        }
    }
}
