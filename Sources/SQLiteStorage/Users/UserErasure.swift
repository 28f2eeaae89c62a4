import Foundation
import GRDB
import PushModel
import Store

/// Removes what was found of a person, within one transaction; each step says how many it removed. What is deleted is
/// overwritten in the file (sqlite.org/pragma.html#pragma_secure_delete, which the connection that writes has).
struct UserErasure {
    let db: Database

    /// Rows of one transaction.
    static let step = 100

    /// A message that has not ended keeps a text that can be read: its deliveries end without an attempt.
    private static let payload = """
        UPDATE message SET source = iif(completed_at IS NULL, '\(MessageBody.erased)', ''), user = NULL, label = NULL,
            collapse_key = NULL WHERE seq = ?
        """
    private static let ended = "UPDATE ended_single SET label = NULL, collapse_key = NULL WHERE seq = ?"
    /// An ended registration keeps something that can be read as an address of its channel, and that no device has.
    private static let removeAddress = """
        UPDATE registration SET app_version = NULL, address_detail = iif(channel = 3, zeroblob(81), NULL),
            address = CASE channel
                WHEN 2 THEN CAST('erased' AS BLOB) WHEN 3 THEN CAST('https://erased.invalid' AS BLOB) ELSE x'00' END
        WHERE key = ? AND ended_at IS NOT NULL
        """
    private static let target = """
        UPDATE link SET state = \(LinkState.deleted.rawValue), parameters = x'', name = NULL WHERE id = ?
        """
    private static let groups = """
        DELETE FROM device_group WHERE project = ?1 AND last_ended IN (SELECT value FROM json_each(?2))
            AND NOT EXISTS (SELECT 1 FROM device_group_member WHERE device_group = device_group.id)
        """
    private static let audit = """
        UPDATE registration_audit SET user = iif(user = ?2, ?3, user), former_user = iif(former_user = ?2, ?3, former_user)
        WHERE id = ?1
        """
    private static let details = """
        UPDATE audit_log SET details = json_replace(details, ?4, ?3) WHERE id = ?1 AND json_extract(details, ?4) = ?2
        """
    private static let clientAddress = """
        UPDATE audit_log SET credential_address = NULL WHERE id = ? AND credential_role = '\(Role.client.rawValue)'
        """
    private static let receipt = """
        SELECT e.message, e.kind, coalesce(r.app, f.app), m.accepted_at / 86400000, coalesce(m.label, '')
        FROM receipt e CROSS JOIN every_message m ON m.seq = e.message
        LEFT JOIN registration r ON r.key = e.registration
        LEFT JOIN former_registration f ON f.key = e.registration
        WHERE e.id = ?
        """

    /// Removes addresses of registrations that have ended, and what a registration that comes later could go on with: so
    /// the app that registers again gets a registration of its own, with another FID.
    func removeAddresses(of keys: [Int64]) throws -> Int {
        for key in keys {
            try db.change(Self.removeAddress, [key])
            try db.change("UPDATE installation SET registration = NULL WHERE registration = ?", [key])
            try db.change("DELETE FROM superseded_subscription WHERE registration = ?", [key])
        }
        // A few rows, while a broadcast is being claimed.
        try db.change(
            "DELETE FROM former_holder WHERE registration IN (SELECT value FROM json_each(?))", [Self.json(keys)])
        return keys.count
    }

    func remove(payloadsOf messages: [Int64]) throws -> Int {
        for message in messages {
            try LabelErasure(db: db, message: message)?.run()
            try db.change(Self.payload, [message])
            try db.change(Self.ended, [message])
        }
        return messages.count
    }

    /// Leaves links as deleted ones are, so that no suffix is given twice, and nothing of where they led.
    func removeTargets(of links: [Int64]) throws -> Int {
        for link in links { try db.change(Self.target, [link]) }
        return links.count
    }

    func remove(clicks: [Data]) throws -> Int {
        for click in clicks { try db.change("DELETE FROM link_click WHERE id = ?", [click]) }
        return clicks.count
    }

    func remove(idempotencyKeys keys: [String], of project: String) throws -> Int {
        for key in keys { try db.change("DELETE FROM idempotency WHERE project = ? AND key = ?", [project, key]) }
        return keys.count
    }

    /// Removes groups without members that one of these registrations left last by its end.
    ///
    /// - Returns: how many.
    func removeGroups(leftBy keys: [Int64], of project: String) throws -> Int {
        try db.change(Self.groups, [project, Self.json(keys)])
    }

    /// Removes receipts, and counts them no more.
    func remove(receipts: [Int64]) throws -> Int {
        for id in receipts {
            guard let row = try db.row(Self.receipt, [id]) else { continue }
            try db.take(1, from: "receipt_tally", ["message": row[0] as Int64, "kind": row[1] as Int64])
            if row[1] == 0, let app: Int64 = row[2] {
                try db.take(
                    1, from: "received_day", ["app": app, "day": row[3] as Int64, "label": row[4] as String])
            }
            try db.change("DELETE FROM receipt WHERE id = ?", [id])
        }
        return receipts.count
    }

    func rename(_ name: ErasedName, inAudits entries: [Int64]) throws -> Int {
        for id in entries { try db.change(Self.audit, [id, name.user, name.standIn]) }
        return entries.count
    }

    /// Of requests that the person's device made, the address goes too.
    func rename(_ name: ErasedName, inAuditLog entries: [Int64]) throws -> Int {
        for id in entries {
            for member in ["user", "formerUser"] {
                try db.change(Self.details, [id, name.user, name.standIn, "$.\(member)"])
            }
            try db.change(Self.clientAddress, [id])
        }
        return entries.count
    }

    func removeUser(of keys: [Int64]) throws -> Int {
        for key in keys { try db.change("UPDATE registration SET user = NULL WHERE key = ?", [key]) }
        return keys.count
    }

    private static func json(_ keys: [Int64]) -> String { "[" + keys.map(String.init).joined(separator: ",") + "]" }
}

/// The name of a person, and what the audits call them from now on.
struct ErasedName: Sendable {
    let user: String
    let standIn: String
}
