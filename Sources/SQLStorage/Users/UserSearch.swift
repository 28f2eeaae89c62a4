import PushModel
import Store

/// Where a person stands in the store.
struct UserTraces: Sendable {
    /// The registrations that have the user's name.
    var named: [Int64] = []
    /// These, and those that had it, as far as the audit says so: also purged ones.
    var keys: Set<Int64> = []
    /// Entries of the audit of registrations that name the user.
    var audits: [Int64] = []
    /// Entries of the audit log that name the user or are about these registrations.
    var auditLog: [Int64] = []
}

/// Finds a person within one snapshot. No index leads from a user to messages and audits: this is asked for rarely, and
/// walks parts of the tables.
struct UserSearch: Sendable {
    let user: String
    let project: String

    /// Messages, or receipts, that one snapshot looks at.
    private static let lookStep: Int64 = 20_000

    private static let registrations = """
        SELECT r.key, r.fid FROM app a CROSS JOIN registration r INDEXED BY registration_ended ON r.app = a.id
        WHERE a.project = ?1 AND r.ended_at IS NOT NULL AND r.user = ?2
        """
    private static let audits = """
        SELECT x.id, CASE WHEN x.user = ?2 THEN x.registration END, CASE WHEN x.former_user = ?2 THEN x.former END
        FROM app a CROSS JOIN registration_audit x ON x.app = a.id
        WHERE a.project = ?1 AND (x.user = ?2 OR x.former_user = ?2)
        """
    private static let keysOfIDs = """
        SELECT r.key FROM app a CROSS JOIN texts(?2) f CROSS JOIN registration r ON r.fid = f.value AND r.app = a.id
        WHERE a.project = ?1
        UNION SELECT f.key FROM app a CROSS JOIN former_registration f ON f.app = a.id
        WHERE a.project = ?1 AND f.fid IN (SELECT value FROM texts(?2))
        """
    private static let auditLog = """
        SELECT id, subject, details FROM audit_log INDEXED BY audit_log_by_action
        WHERE project = ?1 AND action = ?2 AND id > ?3 ORDER BY id LIMIT \(lookStep)
        """
    private static let messages = """
        SELECT seq, registration IS NULL AND user IS NULL FROM every_message
        WHERE seq > ?1 AND seq <= ?2 AND project = ?3 AND (
            user = ?4 OR registration IN (SELECT value FROM numbers(?5))
            OR (registration IS NULL AND user IS NULL AND topic IS NULL AND condition IS NULL
                AND audience BETWEEN 1 AND ?6))
        """
    private static let receipts = """
        SELECT id FROM receipt NOT INDEXED WHERE id > ?1 AND id <= ?2 AND project = ?3
            AND registration IN (SELECT value FROM numbers(?4))
        """
    private static let idempotency = """
        SELECT key FROM idempotency WHERE project = ?1 AND message IN (SELECT value FROM numbers(?2))
        """
    private static let links = """
        SELECT s.link FROM numbers(?) m CROSS JOIN message_link s ON s.message = m.value
        """
    private static let clicks = """
        SELECT id FROM link_click WHERE link IN (SELECT value FROM numbers(?))
        """
    private static let actions: [AuditAction] = [
        .userChanged, .deviceTokenChanged, .quarantineLifted,
    ]

    func traces(_ db: any Database) throws -> UserTraces {
        var traces = UserTraces()
        var ids: Set<String> = []
        for row in try db.rows(Self.registrations, [project, user]) {
            traces.named.append(row[0])
            ids.insert(row[1])
        }
        for row in try db.rows(Self.audits, [project, user]) {
            traces.audits.append(row[0])
            for id in [row[1] as String?, row[2]] { if let id { ids.insert(id) } }
        }
        let list = ids.sorted()
        traces.keys = Set(traces.named)
        traces.keys.formUnion(try db.numbers(Self.keysOfIDs, [project, list]))
        for action in Self.actions { traces.auditLog += try entries(of: action, about: ids, db) }
        return traces
    }

    /// The entries of an action that name the user or are about one of these registrations.
    private func entries(of action: AuditAction, about ids: Set<String>, _ db: any Database) throws -> [Int64] {
        var found: [Int64] = []
        var last: Int64? = 0
        while let after = last {
            let rows = try db.rows(Self.auditLog, [project, action.rawValue, after])
            for row in rows {
                let details = try (row[2] as String?).map(AuditLogTable.details) ?? [:]
                let isAbout = ids.contains(row[1]) || details["formerRegistration"].map(ids.contains) ?? false
                if isAbout || AuditLogTable.users.contains(where: { details[$0] == user }) { found.append(row[0]) }
            }
            last = rows.count == Int(Self.lookStep) ? rows.last?[0] : nil
        }
        return found
    }

    /// Messages behind a number that went to the user or to these registrations alone, and where to look next; `nil`: at
    /// none.
    func messages(
        _ keys: Set<Int64>, after: Int64, _ db: any Database
    ) throws -> (messages: [Int64], next: Int64?) {
        let end = after + Self.lookStep
        let rows = try db.rows(Self.messages, [after, end, project, user, keys.sorted(), keys.count])
        let found: [Int64] = try rows.compactMap { row in
            let message: Int64 = row[0]
            guard row[1] else { return message }
            return try Self.isAlone(keys, message, db) ? message : nil
        }
        // Of both tables: singles that ended have left this one.
        let last = try db.number("SELECT seq FROM numbering WHERE name = 'message'") ?? 0
        return (found, end < last ? end : nil)
    }

    /// The idempotency keys of messages. No index leads there; there are those of some hours.
    func idempotencyKeys(of messages: [Int64], _ db: any Database) throws -> [String] {
        guard !messages.isEmpty else { return [] }
        return try db.column(Self.idempotency, [project, messages])
    }

    /// The links that were made with messages: each for its message alone.
    func links(of messages: [Int64], _ db: any Database) throws -> [Int64] {
        guard !messages.isEmpty else { return [] }
        return try db.numbers(Self.links, [messages])
    }

    /// The clicks on links. No index leads there; there are those of some hours.
    func clicks(on links: [Int64], _ db: any Database) throws -> [[UInt8]] {
        try db.column(Self.clicks, [links])
    }

    /// Receipts behind a number, as ``messages(_:after:_:)``.
    func receipts(
        _ keys: Set<Int64>, after: Int64, _ db: any Database
    ) throws -> (receipts: [Int64], next: Int64?) {
        let end = after + Self.lookStep
        let found = try db.numbers(Self.receipts, [after, end, project, keys.sorted()])
        let last = try db.number("SELECT max(id) FROM receipt") ?? 0
        return (found, end < last ? end : nil)
    }

    /// Whether a list of recipients is of these registrations alone.
    private static func isAlone(_ keys: Set<Int64>, _ message: Int64, _ db: any Database) throws -> Bool {
        var found = Set(try db.numbers(LedgerRecount.waitingKeys, [message]))
        for row in try db.rows(LedgerRecount.blocks, [message]) {
            // Any damage is told as one error.
            guard let block = try? LedgerBlock(decoding: row[6]) else {
                throw StoreError.invalid("a ledger block")
            }
            found.formUnion(block.entries.map(\.key))
        }
        for row in try db.rows("SELECT keys FROM message_list WHERE message = ?", [message]) {
            found.formUnion(try PackedKeys.keys(row[0]))
        }
        return !found.isEmpty && found.isSubset(of: keys)
    }
}
