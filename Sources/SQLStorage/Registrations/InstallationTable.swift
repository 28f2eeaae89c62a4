import PushModel
import Store

/// The tables of installations within one transaction.
struct InstallationTable {
    /// An installation and its number.
    struct Found {
        let number: Int64
        let installation: Installation
    }

    let db: any Database

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
            WHERE installation = ?1 ORDER BY expires_at DESC LIMIT \(Int64.max) OFFSET ?2)
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
        SELECT EXISTS (SELECT 1 FROM installation WHERE fid = ?1 AND project = ?2)
            OR EXISTS (\(RegistrationTable.hasID))
        """
    /// Which of many are taken.
    static let takenIDs = """
        SELECT f.value FROM texts(?1) f
        WHERE EXISTS (SELECT 1 FROM installation i WHERE i.fid = f.value AND i.project = ?2)
            OR EXISTS (
                SELECT 1 FROM registration r CROSS JOIN app a ON a.id = r.app
                WHERE r.fid = f.value AND a.project = ?2)
        """

    func find(_ id: RegistrationID, in project: ProjectID) throws -> Found? {
        try db.row(Self.byID, [id.rawValue, project.rawValue]).map(Self.found)
    }

    func find(digest: [UInt8], in project: ProjectID, at time: Timestamp) throws -> Found? {
        try db.row(Self.byToken, [digest, time.milliseconds, project.rawValue]).map(Self.found)
    }

    func insert(_ new: NewInstallation, at time: Timestamp) throws -> RegistrationID {
        var id = try new.id ?? .random()
        while try db.number(Self.isTaken, [id.rawValue, new.project.rawValue]) != 0 { id = try .random() }
        let number = try db.insert(
            """
            INSERT INTO installation (project, fid, app, sdk_version, refresh_digest, created_at, used_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                new.project.rawValue, id.rawValue, new.app, new.sdkVersion, new.refreshDigest,
                time.milliseconds, time.milliseconds,
            ], key: "id")
        try add(new.token, to: number, at: time)
        return id
    }

    func add(_ token: InstallationToken, to number: Int64, at time: Timestamp) throws {
        try db.change(
            "INSERT INTO installation_token (digest, installation, expires_at) VALUES (?, ?, ?)",
            [token.digest, number, token.expiresAt.milliseconds])
        try db.change(Self.trim, [number, Self.tokenLimit])
        try db.change(
            "UPDATE installation SET used_at = greatest(used_at, ?) WHERE id = ?", [time.milliseconds, number])
    }

    private static func found(_ row: Row) throws -> Found {
        Found(
            number: row[0],
            installation: Installation(
                id: try RegistrationID(stored: row[1]), project: try ProjectID(stored: row[2]),
                refreshDigest: row[3] as [UInt8], registration: (row[4] as Int64?).map(RegistrationKey.init)))
    }
}
