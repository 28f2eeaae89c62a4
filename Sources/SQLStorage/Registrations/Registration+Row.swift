import PushModel
import Store

extension Registration {
    /// The project of a registration named `r`, as an expression.
    static let projectName = "(SELECT project FROM app WHERE id = r.app)"
    /// The bundle id of a registration named `r`, as an expression.
    static let appName = "(SELECT name FROM app WHERE id = r.app)"

    /// The columns that ``init(row:from:)`` reads, of a registration named `r`.
    static let columns = "r.app, \(bareColumns), \(projectName), \(appName)"

    /// The same columns where the row of the app is joined as `a`: one look at it instead of three.
    static let joinedColumns = "r.app, \(bareColumns), a.project, a.name"

    private static let bareColumns = """
        r.key, r.fid, r.token, r.address, r.channel, r.app_version, r.user, r.created_at, r.refreshed_at, \
        r.proven_at, r.quarantined_at, r.quarantine_reason, r.ended_at, \
        CASE WHEN r.superseded = 1 THEN 'superseded' ELSE r.end_cause END, r.bound, r.address_detail
        """

    /// The columns for a reader of many rows, which knows the names of the apps: project and bundle id are in none of
    /// them, but ``init(row:from:app:)`` is told both.
    static let columnsWithoutNames = "r.app, \(bareColumns)"

    /// Reads ``columns``, which begin at `start`.
    init(row: Row, from start: Int = 0) throws {
        try self.init(
            row: row, from: start,
            app: AppNames.Name(
                project: try ProjectID(stored: row[start + 17]), app: try AppID(stored: row[start + 18])))
    }

    /// Reads ``columnsWithoutNames``, which begin at `start`, of a registration of `app`.
    init(row: Row, from start: Int, app: AppNames.Name) throws {
        let address = try Address(channel: row[start + 5], bytes: row[start + 4] as [UInt8]) { row[start + 16] }
        let fid: String = row[start + 2]
        let cause: String? = row[start + 14]
        let end = try cause.map {
            RegistrationEnd(time: Timestamp(milliseconds: row[start + 13]), cause: try .init(storedCase: $0))
        }
        let reason: String? = row[start + 12]
        let quarantine = reason.map {
            Quarantine(time: Timestamp(milliseconds: row[start + 11]), reason: Reason(rawValue: $0))
        }
        self.init(
            key: RegistrationKey(rawValue: row[start + 1]), id: try RegistrationID(stored: fid),
            token: try row.token(start + 3).token(of: fid), project: app.project, app: app.app,
            address: address, appVersion: row[start + 6],
            createdAt: Timestamp(milliseconds: row[start + 8]), refreshedAt: Timestamp(milliseconds: row[start + 9]),
            end: end, provenAt: Timestamp(stored: row[start + 10]), quarantine: quarantine,
            user: try (row[start + 7] as String?).map { try UserID(stored: $0) },
            isBound: row[start + 15] as Int? != nil)
    }
}
