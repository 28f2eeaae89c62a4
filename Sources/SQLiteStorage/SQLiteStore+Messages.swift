import Foundation
import GRDB
import JSON
package import PushModel
package import Store

extension SQLiteStore: MessageStore {
    /// Commits messages with their work, together with whatever else waits for a commit. What can be made without the
    /// database (texts, packed lists) is made before.
    package func accept(
        _ messages: [NewMessage], claimedBy worker: WorkerID?
    ) async throws(StoreError) -> [AcceptResult] {
        let prepared = try messages.map { message throws(StoreError) in try PreparedMessage(message) }
        return try await write(.accept, rows: prepared.reduce(0) { $0 + $1.rows }) { db in
            var step = try AcceptStep(db: db, worker: worker)
            return try prepared.map { try step.accept($0) }
        }
    }

    /// A look at the primary key for each.
    package func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse] {
        try await read { db in
            let table = IdempotencyTable(db: db, project: project)
            return try keys.map { try table.use(of: $0, since: time + (.zero - IdempotencyKey.lifetime)) }
        }
    }

    /// One message, its content read from the stored text as it was accepted: rules that are newer do not apply to it.
    package func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        try await read { db in try MessageTable(db: db).message(id, in: project) }
    }

    /// The counters that triggers keep, read with each commit.
    package var load: StoreLoad { committer.load }

    /// Counts in steps with the streams that fan-outs read; few steps run at the same time, whoever asks for them.
    package func audience(of recipient: NewMessage.Recipient, in project: ProjectID) async throws(StoreError) -> Int {
        try await audience(of: recipient, in: project, step: AudienceCounter.stepSize)
    }

    /// - Parameter step: so many candidates are looked at in one snapshot.
    func audience(
        of recipient: NewMessage.Recipient, in project: ProjectID, step: Int
    ) async throws(StoreError) -> Int {
        var count = 0
        var place: Int64? = 0
        while let start = place {
            await audiences.enter()
            defer { audiences.leave() }
            let part = try await read { db in
                try AudienceCounter(db: db, project: project).count(recipient, after: start, limit: step)
            }
            count += part.count
            place = part.next
        }
        return count
    }

    /// Walks the index of times.
    package func forgetIdempotencyKeys(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in try db.change(IdempotencyTable.forget, [time.milliseconds, limit]) }
    }
}

/// One message row without its content, which only delivery needs.
struct MessageRow {
    static let columns = """
        m.seq, m.id, m.project, m.registration, coalesce(r.fid, f.fid), t.name, m.audience, m.state, m.accepted_at, m.expires_at, \
        m.completed_at, m.apns_id, m.condition, m.expression, m.user, m.singles, m.lane, m.rate, m.finish_by, \
        m.collapses_repeats, \(MessageFacts.columns)
        """
    static let joins = joins(from: "message m")

    /// - Parameter messages: `message m`, with the index that is to be used. A registration that was purged left its FID.
    static func joins(from messages: String) -> String {
        """
        FROM \(messages) LEFT JOIN registration r ON r.key = m.registration
        LEFT JOIN former_registration f ON f.key = m.registration AND r.key IS NULL
        LEFT JOIN topic t ON t.id = m.topic
        """
    }

    let seq: Int64
    let summary: MessageSummary
    let state: MessageState
    let completedAt: Timestamp?
    /// The `apns-id` that the sender gave, which only a single send may.
    let chosenID: APNSID?
    /// Deliveries that were made at accept; the others are counted when fan-outs claim them.
    let singles: Int
    let lane: Lane
    let options: DeliveryOptions

    init(row: Row) throws {
        seq = row[0]
        state = try MessageState(storedCase: row[7])
        completedAt = Timestamp(stored: row[10])
        chosenID = try (row[11] as String?).map { try APNSID(stored: $0) }
        singles = row[15]
        lane = Lane(code: row[16])
        options = DeliveryOptions(
            rate: row[17], finishBy: Timestamp(stored: row[18]), collapsesRepeats: row[19])
        summary = MessageSummary(
            id: try MessageID(stored: row[1]), project: try ProjectID(stored: row[2]),
            recipient: try Self.recipient(row), acceptedAt: Timestamp(milliseconds: row[8]),
            expiresAt: Timestamp(milliseconds: row[9]), facts: try MessageFacts(row: row, from: 20),
            options: options)
    }

    private static func recipient(_ row: Row) throws -> Message.Recipient {
        let audience: Int = row[6]
        if let topic: String = row[5] { return .topic(try Topic(stored: topic), audience: audience) }
        if let key: Int64 = row[3] {
            guard let id: String = row[4] else { throw StoreError.invalid("a message to nobody") }
            return .registration(RegistrationKey(rawValue: key), try RegistrationID(stored: id))
        }
        if let text: String = row[12], let expression: String = row[13] {
            let condition = Condition(text: text, expression: try StoredExpression(stored: expression).expression)
            return .condition(condition, audience: audience)
        }
        if let user: String = row[14] { return .user(try UserID(stored: user), audience: audience) }
        return .list(audience: audience)
    }
}

extension MessageFacts {
    /// The columns that ``init(row:from:)`` reads, of a message named `m`.
    static let columns = """
        m.label, m.is_displayed, m.collapse_key, m.priority, m.time_to_live, m.credential_id, m.credential_name, \
        m.credential_role, m.credential_address
        """

    init(row: Row, from start: Int) throws {
        let label: String? = row[start]
        self.init(
            label: try label.map { try AnalyticsLabel(stored: $0) }, isDisplayed: row[start + 1],
            collapseKey: row[start + 2], priority: row[start + 3], timeToLiveSeconds: row[start + 4],
            credential: try CredentialUse(row: row, from: start + 5))
    }
}

/// The message table within one transaction.
struct MessageTable {
    let db: Database

    static let byID = "SELECT \(MessageRow.columns) \(MessageRow.joins) WHERE m.id = ? AND m.project = ?"

    func find(_ id: MessageID, in project: ProjectID) throws -> MessageRow? {
        try db.row(Self.byID, [id.rawValue, project.rawValue]).map { try MessageRow(row: $0) }
    }

    static let source = "SELECT source FROM message WHERE seq = ?"

    /// The content of a message.
    func content(_ seq: Int64) throws -> MessageContent {
        let source = try String.fetchOne(db.cachedStatement(sql: Self.source), arguments: [seq])
        guard let source else { throw StoreError.invalid("a message") }
        do {
            return MessageContent(stored: try JSONValue(parsing: source.utf8))
        } catch {
            throw StoreError.invalid("a message")
        }
    }

    func message(_ id: MessageID, in project: ProjectID) throws -> Message? {
        guard let row = try find(id, in: project) else { return nil }
        return Message(
            id: row.summary.id, project: row.summary.project, recipient: row.summary.recipient,
            content: try content(row.seq), options: row.options, lane: row.lane, acceptedAt: row.summary.acceptedAt,
            expiresAt: row.summary.expiresAt)
    }

    /// Completes the message if nothing of it is open any more; a cancelled one stays cancelled.
    ///
    /// - Returns: whether it is complete with this step.
    func completeIfDone(_ seq: Int64, at time: Timestamp) throws -> Bool {
        try db.change(Self.complete, [time.milliseconds, seq]) > 0
    }

    static let complete = """
        UPDATE message SET state = CASE state WHEN 'CANCELLED' THEN 'CANCELLED' ELSE 'COMPLETE' END, completed_at = ?1
        WHERE seq = ?2 AND completed_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM page WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM pending WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = ?2 AND +done = 0)
        """
}
