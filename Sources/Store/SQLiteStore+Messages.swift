import GRDB
public import PushModel
import Synchronization

extension SQLiteStore: MessageStore {
    /// Commits a message with its work, together with whatever else waits for a commit.
    public func accept(_ message: NewMessage) async throws(StoreError) -> Message {
        let source = String(decoding: message.content.source.bytes, as: UTF8.self)
        let recipient = try await write { db in try MessageTable(db: db).accept(message, source: source) }
        return Message(
            id: message.id, project: message.project, recipient: recipient, content: message.content,
            acceptedAt: message.acceptedAt, expiresAt: message.expiresAt)
    }

    /// One message, its content read from the stored text as it was accepted: rules that are newer do not apply to it.
    public func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        try await read { db in try MessageTable(db: db).message(id, in: project) }
    }

    /// The counter that triggers keep, read with each commit.
    public var activeMessages: Int { committer.activeMessages.load(ordering: .acquiring) }
}

/// One message row without its content, which only delivery needs.
struct MessageRow {
    static let columns = """
        m.seq, m.id, m.project, m.registration, r.fid, t.name, m.audience, m.state, m.accepted_at, m.expires_at, \
        m.completed_at, m.apns_id, \(MessageFacts.columns)
        """
    static let joins = """
        FROM message m LEFT JOIN registration r ON r.key = m.registration LEFT JOIN topic t ON t.id = m.topic
        """

    let seq: Int64
    let summary: MessageSummary
    let state: MessageState
    let completedAt: Timestamp?
    /// The `apns-id` that the sender gave, which only a single send may.
    let chosenID: APNSID?

    init(row: Row) throws {
        seq = row[0]
        let recipient: Message.Recipient =
            if let topic: String = row[5] {
                .topic(try Topic(stored: topic), audience: row[6])
            } else {
                .registration(RegistrationKey(rawValue: row[3]), try RegistrationID(stored: row[4]))
            }
        state = try MessageState(storedCase: row[7])
        completedAt = Timestamp(stored: row[10])
        chosenID = try (row[11] as String?).map { try APNSID(stored: $0) }
        summary = MessageSummary(
            id: try MessageID(stored: row[1]), project: try ProjectID(stored: row[2]), recipient: recipient,
            acceptedAt: Timestamp(milliseconds: row[8]), expiresAt: Timestamp(milliseconds: row[9]),
            facts: try MessageFacts(row: row, from: 12))
    }
}

extension MessageFacts {
    /// The columns that ``init(row:from:)`` reads, of a message named `m`.
    static let columns = "m.label, m.is_displayed, m.collapse_key, m.priority, m.time_to_live"

    init(row: Row, from start: Int) throws {
        let label: String? = row[start]
        self.init(
            label: try label.map { try AnalyticsLabel(stored: $0) }, isDisplayed: row[start + 1],
            collapseKey: row[start + 2], priority: row[start + 3], timeToLiveSeconds: row[start + 4])
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
            content: try content(row.seq), acceptedAt: row.summary.acceptedAt, expiresAt: row.summary.expiresAt)
    }

    /// Writes a message with its work: one pending delivery, or one fan-out shard over the topic's subscribers.
    func accept(_ message: NewMessage, source: String) throws -> Message.Recipient {
        switch message.recipient {
        case .registration(let key, let id):
            let seq = try insert(message, source, registration: key, topic: nil, audience: 1)
            try db.change(
                "INSERT INTO pending (message, registration, lane, not_before) VALUES (?, ?, ?, ?)",
                [seq, key.rawValue, Lane.interactive.code, message.acceptedAt.milliseconds])
            return .registration(key, id)
        case .topic(let topic):
            let id = try TopicTable(db: db).id(of: topic, message.project.rawValue)
            let audience = try db.number("SELECT subscribers FROM topic WHERE id = ?", [id]) ?? 0
            let seq = try insert(message, source, registration: nil, topic: id, audience: audience)
            if audience > 0 { try insertFanOut(seq, topic: id, audience: audience) }
            return .topic(topic, audience: Int(audience))
        }
    }

    private func insert(
        _ message: NewMessage, _ source: String, registration: RegistrationKey?, topic: Int64?, audience: Int64
    ) throws -> Int64 {
        let isEmpty = audience == 0
        try db.change(
            """
            INSERT INTO message (id, project, registration, topic, audience, source, apns_id, label, is_displayed, collapse_key,
                priority, time_to_live, lane, state, accepted_at, expires_at, completed_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                message.id.rawValue, message.project.rawValue, registration?.rawValue, topic, audience, source,
                message.content.apns.headers.id?.rawValue, message.facts.label?.rawValue, message.facts.isDisplayed,
                message.facts.collapseKey,
                message.facts.priority, message.facts.timeToLiveSeconds,
                (topic == nil ? Lane.interactive : Lane.bulk).code,
                (isEmpty ? MessageState.complete : .active).rawValue, message.acceptedAt.milliseconds,
                message.expiresAt.milliseconds, isEmpty ? message.acceptedAt.milliseconds : nil,
            ])
        return db.lastInsertedRowID
    }

    /// The range ends at the newest subscriber of now: keys only grow, so whoever subscribes later for the first time is
    /// not even looked at; who subscribes again has a newer number. A new fan-out queues behind those that run.
    private func insertFanOut(_ seq: Int64, topic: Int64, audience: Int64) throws {
        let last = try db.number("SELECT max(registration) FROM subscription WHERE topic = ?", [topic]) ?? 0
        try db.change(
            """
            INSERT INTO fan_out (message, shard, topic, last_subscription, after_key, last_key, expected, served)
            VALUES (?, 0, ?, ?, 0, ?, ?, ?)
            """,
            [seq, topic, try TopicTable(db: db).lastSubscription(), last, audience, try FanOutTable(db: db).lastTurn()])
    }

    /// Completes the message if nothing of it is open any more.
    ///
    /// - Returns: whether it is complete with this step.
    func completeIfDone(_ seq: Int64, at time: Timestamp) throws -> Bool {
        try db.change(Self.complete, [time.milliseconds, seq]) > 0
    }

    static let complete = """
        UPDATE message SET state = 'COMPLETE', completed_at = ?1
        WHERE seq = ?2 AND completed_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM page WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM pending WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = ?2 AND +done = 0)
        """
}
