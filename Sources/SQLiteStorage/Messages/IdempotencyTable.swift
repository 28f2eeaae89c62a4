import Foundation
import GRDB
import PushModel
import Store

/// Idempotency keys of a project, within one transaction.
struct IdempotencyTable {
    let db: Database
    let project: ProjectID

    static let find = """
        SELECT i.digest, m.id FROM idempotency i CROSS JOIN message m ON m.seq = i.message
        WHERE i.project = ? AND i.key = ? AND i.used_at >= ?
        """
    static let forget = """
        DELETE FROM idempotency WHERE (project, key) IN (
            SELECT project, key FROM idempotency INDEXED BY idempotency_used WHERE used_at < ? LIMIT ?)
        """

    /// Looks for a key that came at `time` or later; what is older counts as forgotten.
    func use(of key: IdempotencyKey, since time: Timestamp) throws -> IdempotencyUse {
        guard let row = try db.row(Self.find, [project.rawValue, key.key, time.milliseconds]) else { return .unused }
        return [UInt8](row[0] as Data) == key.digest ? .same(try MessageID(stored: row[1])) : .other
    }

    func insert(_ key: IdempotencyKey, message: Int64, at time: Timestamp) throws {
        try db.change(
            """
            INSERT INTO idempotency (project, key, digest, message, used_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (project, key) DO UPDATE
                SET digest = excluded.digest, message = excluded.message, used_at = excluded.used_at
            """,
            [project.rawValue, key.key, Data(key.digest), message, time.milliseconds])
    }
}
