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
                // An environment that was only assumed may have been corrected since.
                let change = RegistrationChange(
                    environment: request.isEnvironmentStated ? request.environment : nil,
                    appVersion: request.appVersion)
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

    /// Lifts quarantines in steps of their own, so that other writes come between.
    public func liftQuarantine(
        of app: AppID, in project: ProjectID, since time: Timestamp
    ) async throws(StoreError) -> Int {
        var lifted = 0
        while true {
            let count = try await write { db in
                try db.change(
                    RegistrationTable.liftQuarantine, [project.rawValue, app.rawValue, time.milliseconds])
            }
            lifted += count
            if count == 0 { return lifted }
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

    /// Changes the given fields; the time of refresh never goes back. Another device token, or the same in another
    /// environment, has yet to be proven. (In an UPDATE the old values stand on the right.) A quarantine is over: the
    /// app says that the token is good.
    func refresh(_ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp) throws -> Registration {
        try db.change(
            """
            UPDATE registration SET device_token = coalesce(?1, device_token), environment = coalesce(?2, environment),
                app_version = coalesce(?3, app_version), refreshed_at = max(refreshed_at, ?4),
                proven_at = CASE
                    WHEN coalesce(?1, device_token) = device_token AND coalesce(?2, environment) = environment
                    THEN proven_at END,
                quarantined_at = NULL, quarantine_reason = NULL
            WHERE key = ?5
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

    static let prove = """
        UPDATE registration SET proven_at = ?1, environment = ?2, quarantined_at = NULL, quarantine_reason = NULL
        WHERE key = ?3 AND device_token = ?4 AND environment = ?5
            AND (proven_at IS NULL OR environment <> ?2)
        """
    static let doubt = """
        UPDATE registration SET proven_at = NULL
        WHERE key = ?1 AND device_token = ?2 AND environment = ?3 AND proven_at = ?4
        """
    static let quarantine = """
        UPDATE registration SET quarantined_at = ?1, quarantine_reason = ?2
        WHERE key = ?3 AND device_token = ?4 AND environment = ?5 AND refreshed_at = ?6
            AND proven_at IS NULL AND quarantined_at IS NULL AND ended_at IS NULL
        """
    static let liftQuarantine = """
        UPDATE registration SET quarantined_at = NULL, quarantine_reason = NULL WHERE key IN (
            SELECT key FROM registration INDEXED BY registration_quarantined
            WHERE project = ?1 AND app = ?2 AND quarantined_at >= ?3 LIMIT 5000)
        """

    // What an answer says counts for the registration as it was sent to: not when it has another device token or
    // another environment by now.

    /// Marks the device token as accepted by APNs in `environment`.
    func prove(_ sent: Registration, in environment: APNSEnvironment, at time: Timestamp) throws {
        try db.change(
            Self.prove,
            [
                time.milliseconds, environment.rawValue, sent.key.rawValue, Data(sent.deviceToken.bytes),
                sent.environment.rawValue,
            ])
    }

    /// Takes the mark of acceptance back that it was sent with.
    func doubt(_ sent: Registration) throws {
        try db.change(
            Self.doubt,
            [
                sent.key.rawValue, Data(sent.deviceToken.bytes), sent.environment.rawValue,
                sent.provenAt?.milliseconds,
            ])
    }

    /// Quarantines an active registration, unless it was refreshed or proven meanwhile.
    func quarantine(_ sent: Registration, _ quarantine: Quarantine) throws {
        try db.change(
            Self.quarantine,
            [
                quarantine.time.milliseconds, quarantine.reason.rawValue, sent.key.rawValue,
                Data(sent.deviceToken.bytes), sent.environment.rawValue, sent.refreshedAt.milliseconds,
            ])
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
