import Foundation
import GRDB
public import PushModel

extension SQLiteStore: RegistrationStore {
    /// Refreshes the active registration of this device token, or makes one with a random FID and token.
    public func register(
        _ request: RegistrationRequest, at time: Timestamp
    ) async throws(StoreError) -> (registration: Registration, isNew: Bool) {
        try await write { db in
            let registrations = RegistrationTable(db: db)
            let token = request.deviceToken
            if let key = try registrations.active(request.project, request.app, token) {
                let change = RegistrationChange(environment: request.environment, appVersion: request.appVersion)
                return (try registrations.refresh(key, change, at: time), false)
            }
            return (try registrations.insert(request, at: time), true)
        }
    }

    /// The registration with this FID, also an ended one.
    public func registration(_ id: RegistrationID, in project: ProjectID) async throws(StoreError) -> Registration? {
        try await read { db in
            try db.row(RegistrationTable.byID, [id.rawValue, project.rawValue]).map { try Registration(row: $0) }
        }
    }

    /// The registration with this token, also an ended one.
    public func registration(
        token: RegistrationToken, in project: ProjectID
    ) async throws(StoreError) -> Registration? {
        try await read { db in
            try db.row(RegistrationTable.byToken, [token.rawValue, project.rawValue]).map { try Registration(row: $0) }
        }
    }

    /// Changes and refreshes an active registration; another holder of the new device token ends as `replaced`.
    public func change(
        _ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp
    ) async throws(StoreError) -> Registration? {
        try await write { db in
            let registrations = RegistrationTable(db: db)
            guard let current = try registrations.find(key), current.isActive else { return nil }
            if let token = change.deviceToken,
                let holder = try registrations.active(current.project, current.app, token), holder != key
            {
                try registrations.end(holder, RegistrationEnd(time: time, cause: .replaced))
            }
            return try registrations.refresh(key, change, at: time)
        }
    }

    /// Ends a registration and its subscriptions in one transaction.
    public func end(_ key: RegistrationKey, _ end: RegistrationEnd) async throws(StoreError) {
        try await write { db in try RegistrationTable(db: db).end(key, end) }
    }
}

/// The registration table within one transaction.
struct RegistrationTable {
    let db: Database

    static let byID = "SELECT \(Registration.columns) FROM registration r WHERE r.fid = ? AND r.project = ?"
    static let byToken = "SELECT \(Registration.columns) FROM registration r WHERE r.token = ? AND r.project = ?"
    static let byDeviceToken = """
        SELECT key FROM registration WHERE project = ? AND app = ? AND device_token = ? AND ended_at IS NULL
        """

    func find(_ key: RegistrationKey) throws -> Registration? {
        try db.row("SELECT \(Registration.columns) FROM registration r WHERE r.key = ?", [key.rawValue])
            .map { try Registration(row: $0) }
    }

    /// The active registration that holds a device token.
    func active(_ project: ProjectID, _ app: AppID, _ token: DeviceToken) throws -> RegistrationKey? {
        try db.number(Self.byDeviceToken, [project.rawValue, app.rawValue, Data(token.bytes)])
            .map(RegistrationKey.init)
    }

    func insert(_ request: RegistrationRequest, at time: Timestamp) throws -> Registration {
        let id = RegistrationToken.randomText(length: 21)
        let fid = ["c", "d", "e", "f"][Int.random(in: 0..<4)] + id
        try db.change(
            """
            INSERT INTO registration (fid, token, project, app, device_token, environment, app_version, created_at,
                refreshed_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                fid, "\(fid):APA91b\(RegistrationToken.randomText(length: 134))", request.project.rawValue,
                request.app.rawValue, Data(request.deviceToken.bytes), request.environment.rawValue,
                request.appVersion, time.milliseconds, time.milliseconds,
            ])
        return try existing(RegistrationKey(rawValue: db.lastInsertedRowID))
    }

    /// Changes the given fields; the time of refresh never goes back.
    func refresh(_ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp) throws -> Registration {
        try db.change(
            """
            UPDATE registration SET device_token = coalesce(?, device_token), environment = coalesce(?, environment),
                app_version = coalesce(?, app_version), refreshed_at = max(refreshed_at, ?)
            WHERE key = ?
            """,
            [
                change.deviceToken.map { Data($0.bytes) }, change.environment?.rawValue, change.appVersion,
                time.milliseconds, key.rawValue,
            ])
        return try existing(key)
    }

    /// Ends an active registration and its subscriptions.
    func end(_ key: RegistrationKey, _ end: RegistrationEnd) throws {
        let ended = try db.change(
            "UPDATE registration SET ended_at = ?, end_cause = ? WHERE key = ? AND ended_at IS NULL",
            [end.time.milliseconds, end.cause.rawValue, key.rawValue])
        if ended > 0 { try endSubscriptions(of: key) }
    }

    /// Ends a registration that APNs called dead, unless it was refreshed after `deadSince` or has another device
    /// token by now: then the answer was about the old one.
    func endUnregistered(_ sent: Registration, deadSince: Timestamp, at time: Timestamp) throws {
        let ended = try db.change(
            """
            UPDATE registration SET ended_at = ?, end_cause = 'unregistered'
            WHERE key = ? AND ended_at IS NULL AND refreshed_at <= ? AND device_token = ?
            """,
            [time.milliseconds, sent.key.rawValue, deadSince.milliseconds, Data(sent.deviceToken.bytes)])
        if ended > 0 { try endSubscriptions(of: sent.key) }
    }

    private func endSubscriptions(of key: RegistrationKey) throws {
        try db.change("DELETE FROM subscription WHERE registration = ?", [key.rawValue])
    }

    private func existing(_ key: RegistrationKey) throws -> Registration {
        guard let registration = try find(key) else { throw StoreError.invalid("a registration") }
        return registration
    }
}

extension RegistrationToken {
    /// Random base64url characters from the system's generator, ten from each 64 bits.
    fileprivate static func randomText(length: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var generator = SystemRandomNumberGenerator()
        var text: [UInt8] = []
        text.reserveCapacity(length)
        while text.count < length {
            var bits: UInt64 = generator.next()
            for _ in 0..<min(10, length - text.count) {
                text.append(alphabet[Int(bits & 63)])
                bits >>= 6
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
