import GRDB
import PushModel
import Store

/// Removes what was found of a person, within one transaction. What is deleted is overwritten in the file
/// (sqlite.org/pragma.html#pragma_secure_delete, which the connection that writes has).
struct UserErasure {
    let db: Database

    /// Rows of one transaction.
    static let step = 100

    /// A message that has not ended keeps a text that can be read: its deliveries end without an attempt.
    private static let payload = """
        UPDATE message SET source = iif(completed_at IS NULL, '{}', ''), user = NULL, collapse_key = NULL WHERE seq = ?
        """
    private static let receipt = """
        SELECT e.message, e.kind, coalesce(r.app, f.app), m.accepted_at / 86400000, coalesce(m.label, '')
        FROM receipt e CROSS JOIN message m ON m.seq = e.message
        LEFT JOIN registration r ON r.key = e.registration
        LEFT JOIN former_registration f ON f.key = e.registration
        WHERE e.id = ?
        """

    func remove(payloadsOf messages: [Int64]) throws {
        for message in messages { try db.change(Self.payload, [message]) }
    }

    func remove(idempotencyKeys keys: [String], of project: String) throws {
        for key in keys { try db.change("DELETE FROM idempotency WHERE project = ? AND key = ?", [project, key]) }
    }

    /// Removes receipts, and counts them no more.
    func remove(receipts: [Int64]) throws {
        for id in receipts {
            guard let row = try db.row(Self.receipt, [id]) else { continue }
            try takeOne(
                from: "receipt_tally", "message = ?1 AND kind = ?2", [row[0] as Int64, row[1] as Int64])
            if row[1] == 0, let app: Int64 = row[2] {
                try takeOne(
                    from: "received_day", "app = ?1 AND day = ?2 AND label = ?3",
                    [app, row[3] as Int64, row[4] as String])
            }
            try db.change("DELETE FROM receipt WHERE id = ?", [id])
        }
    }

    /// A count of one goes with its row.
    private func takeOne(from table: String, _ condition: String, _ arguments: StatementArguments)
        throws
    {
        let isLess = try db.change(
            "UPDATE \(table) SET count = count - 1 WHERE \(condition) AND count > 1", arguments)
        if isLess == 0 { try db.change("DELETE FROM \(table) WHERE \(condition)", arguments) }
    }

    func remove(audits: [Int64]) throws {
        for id in audits { try db.change("DELETE FROM registration_audit WHERE id = ?", [id]) }
    }

    func remove(auditLog entries: [Int64]) throws {
        for id in entries { try db.change("DELETE FROM audit_log WHERE id = ?", [id]) }
    }

    func removeUser(of keys: [Int64]) throws {
        for key in keys { try db.change("UPDATE registration SET user = NULL WHERE key = ?", [key]) }
    }
}
