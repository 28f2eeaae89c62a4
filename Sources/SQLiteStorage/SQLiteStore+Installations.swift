import Foundation
import GRDB
package import PushModel
package import Store

extension SQLiteStore: InstallationStore {
    /// Keeps a new installation, with another FID if somebody has the one it chose.
    package func install(_ new: NewInstallation, at time: Timestamp) async throws(StoreError) -> RegistrationID {
        try await write { db in try InstallationTable(db: db).insert(new, at: time) }
    }

    /// The installation with this FID.
    package func installation(
        _ id: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> Installation? {
        try await lookUp { db in try InstallationTable(db: db).find(id, in: project)?.installation }
    }

    /// The installation with this auth token, by the token's digest.
    package func installation(
        withToken digest: [UInt8], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Installation? {
        try await lookUp { db in
            try InstallationTable(db: db).find(digest: digest, in: project, at: time)?.installation
        }
    }

    /// Keeps one more auth token, and the newest four.
    package func addToken(
        _ token: InstallationToken, to id: RegistrationID, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Bool {
        try await write { db in
            let table = InstallationTable(db: db)
            guard let row = try table.find(id, in: project) else { return false }
            try table.add(token, to: row.number, at: time)
            return true
        }
    }

    /// Removes an installation and ends its registration in one transaction.
    package func uninstall(
        _ id: RegistrationID, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) {
        try await write { db in
            guard let row = try InstallationTable(db: db).find(id, in: project) else { return }
            if let key = row.installation.registration {
                try RegistrationTable(db: db).end(key, RegistrationEnd(time: time, cause: .deleted))
            }
            try db.change("DELETE FROM installation WHERE id = ?", [row.number])
        }
    }

    /// Refreshes, revives or makes the registration of an installation in one transaction.
    package func register(
        _ request: RegistrationRequest, for id: RegistrationID, at time: Timestamp
    ) async throws(StoreError) -> InstallationRegistration {
        try await write { db in
            guard let row = try InstallationTable(db: db).find(id, in: request.project) else { return .unknown }
            return try InstallationRegistrar(db: db, request: request, time: time).register(row)
        }
    }

    /// The registration with this key, also an ended one.
    package func registration(_ key: RegistrationKey) async throws(StoreError) -> Registration? {
        try await lookUp { db in try RegistrationTable(db: db).find(key) }
    }

    /// The subscription of a web app's registration.
    package func webSubscription(of key: RegistrationKey) async throws(StoreError) -> WebSubscription? {
        try await lookUp { db in try RegistrationTable(db: db).webSubscription(of: key) }
    }

    /// Forgets expired auth tokens by their index.
    package func forgetInstallationTokens(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in
            try db.change(InstallationTable.forgetTokens, [time.milliseconds, limit])
        }
    }

    /// Forgets unused installations by their index.
    package func forgetInstallations(unusedSince time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try db.change(InstallationTable.forget, [time.milliseconds, limit]) }
    }
}

/// The tables of installations within one transaction.
struct InstallationTable {
    /// An installation and its number.
    struct Found {
        let number: Int64
        let installation: Installation
    }

    let db: Database

    /// Auth tokens of one installation that are valid at the same time.
    static let tokenLimit = 4

    private static let columns = "i.id, i.fid, i.project, i.refresh_digest, i.registration"
    static let byID = "SELECT \(columns) FROM installation i WHERE i.fid = ? AND i.project = ?"
    static let byToken = """
        SELECT \(columns) FROM installation_token t CROSS JOIN installation i ON i.id = t.installation
        WHERE t.digest = ? AND t.expires_at > ? AND i.project = ?
        """
    static let trim = """
        DELETE FROM installation_token WHERE digest IN (
            SELECT digest FROM installation_token INDEXED BY installation_token_of
            WHERE installation = ?1 ORDER BY expires_at DESC LIMIT -1 OFFSET ?2)
        """
    static let forgetTokens = """
        DELETE FROM installation_token WHERE digest IN (
            SELECT digest FROM installation_token INDEXED BY installation_token_expiry
            WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)
        """
    static let forget = """
        DELETE FROM installation WHERE id IN (
            SELECT id FROM installation INDEXED BY installation_used WHERE used_at < ?1 ORDER BY used_at LIMIT ?2)
        """
    static let isLinked = "SELECT 1 FROM installation INDEXED BY installation_of WHERE registration = ? AND fid = ?"
    static let isTaken = """
        SELECT EXISTS (SELECT 1 FROM installation WHERE fid = ?1) OR EXISTS (SELECT 1 FROM registration WHERE fid = ?1)
        """

    func find(_ id: RegistrationID, in project: ProjectID) throws -> Found? {
        try db.row(Self.byID, [id.rawValue, project.rawValue]).map(Self.found)
    }

    func find(digest: [UInt8], in project: ProjectID, at time: Timestamp) throws -> Found? {
        try db.row(Self.byToken, [Data(digest), time.milliseconds, project.rawValue]).map(Self.found)
    }

    func insert(_ new: NewInstallation, at time: Timestamp) throws -> RegistrationID {
        var id = try new.id ?? .random()
        while try db.number(Self.isTaken, [id.rawValue]) != 0 { id = try .random() }
        try db.change(
            """
            INSERT INTO installation (project, fid, app, sdk_version, refresh_digest, created_at, used_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                new.project.rawValue, id.rawValue, new.app, new.sdkVersion, Data(new.refreshDigest),
                time.milliseconds, time.milliseconds,
            ])
        try add(new.token, to: db.lastInsertedRowID, at: time)
        return id
    }

    func add(_ token: InstallationToken, to number: Int64, at time: Timestamp) throws {
        try db.change(
            "INSERT INTO installation_token (digest, installation, expires_at) VALUES (?, ?, ?)",
            [Data(token.digest), number, token.expiresAt.milliseconds])
        try db.change(Self.trim, [number, Self.tokenLimit])
        try db.change("UPDATE installation SET used_at = max(used_at, ?) WHERE id = ?", [time.milliseconds, number])
    }

    private static func found(_ row: Row) throws -> Found {
        Found(
            number: row[0],
            installation: Installation(
                id: try RegistrationID(stored: row[1]), project: try ProjectID(stored: row[2]),
                refreshDigest: [UInt8](row[3] as Data), registration: (row[4] as Int64?).map(RegistrationKey.init)))
    }
}

extension RegistrationTable {
    static let webSubscription = """
        SELECT endpoint, p256dh, auth, application_key FROM web_subscription WHERE registration = ?
        """

    /// Keeps how a browser is reached, instead of what was known before.
    func keep(_ web: WebSubscription, of key: RegistrationKey) throws {
        try db.change(
            """
            INSERT INTO web_subscription (registration, endpoint, p256dh, auth, application_key) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (registration) DO UPDATE SET endpoint = excluded.endpoint, p256dh = excluded.p256dh,
                auth = excluded.auth, application_key = excluded.application_key
            """,
            [key.rawValue, web.endpoint, Data(web.key), Data(web.secret), web.applicationKey.map { Data($0) }])
    }

    /// How the browser of a registration is reached.
    func webSubscription(of key: RegistrationKey) throws -> WebSubscription? {
        guard let row = try db.row(Self.webSubscription, [key.rawValue]) else { return nil }
        guard
            let web = WebSubscription(
                endpoint: row[0], key: [UInt8](row[1] as Data), secret: [UInt8](row[2] as Data),
                applicationKey: (row[3] as Data?).map { [UInt8]($0) })
        else { throw StoreError.invalid("a web subscription") }
        return web
    }
}
