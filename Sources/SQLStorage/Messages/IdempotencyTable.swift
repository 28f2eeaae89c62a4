import PushModel
import Store

/// Idempotency keys of a project, within one transaction.
struct IdempotencyTable {
    let db: any Database
    let project: ProjectID

    static let find = """
        SELECT i.digest, m.id FROM idempotency i CROSS JOIN every_message m ON m.seq = i.message
        WHERE i.project = ? AND i.key = ? AND i.expires_at >= ?
        """
    static let forget = """
        DELETE FROM idempotency WHERE (project, key) IN (
            SELECT project, key FROM idempotency INDEXED BY idempotency_expiry WHERE expires_at < ? LIMIT ?)
        """

    /// Looks for a key that counts at `time`; another one, and one whose message was removed, counts as forgotten.
    func use(of key: IdempotencyKey, at time: Timestamp) throws -> IdempotencyUse {
        guard let row = try db.row(Self.find, [project.rawValue, key.key, time.milliseconds]) else { return .unused }
        return row[0] as [UInt8] == key.digest ? .same(try MessageID(column: row[1])) : .other
    }

    func insert(_ key: IdempotencyKey, message: Int64, at time: Timestamp) throws {
        try db.post(
            """
            INSERT INTO idempotency (project, key, digest, message, expires_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (project, key) DO UPDATE
                SET digest = excluded.digest, message = excluded.message, expires_at = excluded.expires_at
            """,
            [project.rawValue, key.key, key.digest, message, (time + key.lifetime).milliseconds])
    }
}
