import PushModel
import Store

/// Removes what was found of a person, within one transaction; each step says how many it removed. What is deleted is
/// overwritten in the file (sqlite.org/pragma.html#pragma_secure_delete, which the connection that writes has).
struct UserErasure {
    let db: any Database

    /// Rows of one transaction.
    static let step = 100

    /// A message that has not ended keeps a text that can be read: its deliveries end without an attempt.
    private static let payload = """
        UPDATE message SET source = CASE WHEN completed_at IS NULL THEN '\(MessageBody.erased)' ELSE '' END, user = NULL, label = NULL,
            collapse_key = NULL WHERE seq = ?
        """
    private static let ended = "UPDATE ended_single SET label = NULL, collapse_key = NULL WHERE seq = ?"
    /// An ended registration keeps something that can be read as an address of its channel, and that no device has.
    private static let removeAddress = """
        UPDATE registration SET app_version = NULL, address_detail = CASE channel WHEN 3 THEN ?2 END,
            address = CASE channel WHEN 2 THEN ?3 WHEN 3 THEN ?4 ELSE ?5 END
        WHERE key = ?1 AND ended_at IS NOT NULL
        """
    private static var erasedAddresses: SQLArguments {
        [[UInt8](repeating: 0, count: 81), Array("erased".utf8), Array("https://erased.invalid".utf8), [0] as [UInt8]]
    }
    private static let target = """
        UPDATE link SET state = \(LinkState.deleted.rawValue), parameters = ?2, name = NULL WHERE id = ?1
        """
    private static let groups = """
        DELETE FROM device_group WHERE project = ?1 AND last_ended IN (SELECT value FROM numbers(?2))
            AND NOT EXISTS (SELECT 1 FROM device_group_member WHERE device_group = device_group.id)
        """
    private static let audit = """
        UPDATE registration_audit SET user = CASE WHEN user = ?2 THEN ?3 ELSE user END,
            former_user = CASE WHEN former_user = ?2 THEN ?3 ELSE former_user END
        WHERE id = ?1
        """
    private static let details = "SELECT details FROM audit_log WHERE id = ?"
    private static let setDetails = "UPDATE audit_log SET details = ? WHERE id = ?"
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
            try db.change(Self.removeAddress, [key] + Self.erasedAddresses)
            try db.change("UPDATE installation SET registration = NULL WHERE registration = ?", [key])
            try db.change("DELETE FROM superseded_subscription WHERE registration = ?", [key])
        }
        // A few rows, while a broadcast is being claimed.
        try db.change(
            "DELETE FROM former_holder WHERE registration IN (SELECT value FROM numbers(?))", [keys])
        return keys.count
    }

    func remove(payloadsOf messages: [Int64]) throws -> Int {
        for message in messages {
            try LabelErasure(db: db, message: message)?.run()
            try db.change(Self.payload, [message])
            try db.change(Self.ended, [message])
            try db.change(MessagePlatformTable.removeCollapseKeys, [message])
        }
        return messages.count
    }

    /// Leaves links as deleted ones are, so that no suffix is given twice, and nothing of where they led.
    func removeTargets(of links: [Int64]) throws -> Int {
        for link in links { try db.change(Self.target, [link, [UInt8]()]) }
        return links.count
    }

    func remove(clicks: [[UInt8]]) throws -> Int {
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
        try db.change(Self.groups, [project, keys])
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
            if let text = try db.text(Self.details, [id]) {
                var details = try AuditLogTable.details(text)
                for member in AuditLogTable.users where details[member] == name.user {
                    details[member] = name.standIn
                }
                try db.change(Self.setDetails, [AuditLogTable.text(of: details), id])
            }
            try db.change(Self.clientAddress, [id])
        }
        return entries.count
    }

    func removeUser(of keys: [Int64]) throws -> Int {
        for key in keys { try db.change("UPDATE registration SET user = NULL WHERE key = ?", [key]) }
        return keys.count
    }

}

/// The name of a person, and what the audits call them from now on.
struct ErasedName: Sendable {
    let user: String
    let standIn: String
}
