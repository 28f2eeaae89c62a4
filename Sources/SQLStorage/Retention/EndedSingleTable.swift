import PushModel
import Store

/// Moves complete messages to one registration to the table of those without a payload, within one transaction.
struct EndedSingleTable {
    private let db: any Database
    private let project: String
    /// What stands for the project; `nil`: it was not asked for yet.
    private var number: Int64?
    /// The newest message of each kind that was met.
    private var lastMessages: [Int64: Int64] = [:]

    init(db: any Database, project: String) {
        (self.db, self.project) = (db, project)
    }

    private static let kindColumns = """
        is_displayed, priority, lane, collapses_repeats, credential_id, credential_name, credential_role, \
        credential_address
        """
    /// The kind of a message that can be moved: NULL if it is a new one. A message that was cancelled stays where lists
    /// by state find it.
    static let kind = """
        SELECT (SELECT k.id FROM single_kind k WHERE k.credential_id IS NOT DISTINCT FROM m.credential_id
                AND k.credential_address IS NOT DISTINCT FROM m.credential_address AND k.credential_name IS NOT DISTINCT FROM m.credential_name
                AND k.credential_role IS NOT DISTINCT FROM m.credential_role AND k.is_displayed = m.is_displayed
                AND k.priority = m.priority AND k.lane = m.lane AND k.collapses_repeats = m.collapses_repeats)
        FROM message m
        WHERE m.seq = ? AND m.state = 'COMPLETE' AND m.block IS NOT NULL AND m.rate IS NULL AND m.finish_by IS NULL
        """
    private static let insertKind = """
        INSERT INTO single_kind (\(kindColumns), last_message) SELECT \(kindColumns), seq FROM message WHERE seq = ?
        """
    static let insert = """
        INSERT INTO ended_single (seq, id, project, kind, registration, accepted_at, time_to_live, lifetime, took, block,
            apns_id, label, collapse_key)
        SELECT seq, id, ?2, ?3, registration, accepted_at, time_to_live,
            nullif(expires_at - accepted_at, time_to_live * 1000), completed_at - accepted_at, block, apns_id, label,
            collapse_key
        FROM message WHERE seq = ?1
        """
    private static let remove = "DELETE FROM message WHERE seq = ?"
    private static let keepKind = "UPDATE single_kind SET last_message = greatest(last_message, ?2) WHERE id = ?1"
    /// Kinds that no message is of any more.
    static let removeKinds = """
        DELETE FROM single_kind WHERE id IN (
            SELECT id FROM single_kind INDEXED BY single_kind_last
            WHERE last_message < coalesce((SELECT min(seq) FROM ended_single), \(Int64.max)) ORDER BY last_message LIMIT ?)
        """

    /// Moves a message without its payload.
    ///
    /// - Returns: whether it is one that can be moved.
    mutating func take(_ message: Int64) throws -> Bool {
        guard let row = try db.row(Self.kind, [message]) else { return false }
        let kind = try (row[0] as Int64?) ?? newKind(of: message)
        try db.change(Self.insert, [message, try projectNumber(), kind])
        try db.change(Self.remove, [message])
        lastMessages[kind] = max(lastMessages[kind] ?? 0, message)
        return true
    }

    /// Ends the step: nothing is moved after it.
    mutating func finish() throws {
        for (kind, message) in lastMessages { try db.change(Self.keepKind, [kind, message]) }
        lastMessages.removeAll()
    }

    private func newKind(of message: Int64) throws -> Int64 {
        try db.insert(Self.insertKind, [message], key: "id")
    }

    private mutating func projectNumber() throws -> Int64 {
        if let number { return number }
        let found = try RetentionTable(db: db, project: project).number()
        number = found
        return found
    }
}
