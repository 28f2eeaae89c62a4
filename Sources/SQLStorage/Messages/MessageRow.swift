import JSON
import PushModel
import Store

/// One message row without its content, which only delivery needs.
struct MessageRow {
    static let columns = """
        m.seq, m.id, m.project, m.registration, coalesce(r.fid, f.fid), t.name, m.audience, m.state, m.accepted_at, m.expires_at, \
        m.completed_at, m.apns_id, m.condition, m.expression, m.user, m.singles, m.lane, m.rate, m.finish_by, \
        m.collapses_repeats, \(MessageFacts.columns)
        """
    static let joins = joins(from: "every_message m")

    /// - Parameter messages: `every_message m`, or `message m` with the index that is to be used. A registration that was purged left its FID.
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
    let chosenID: PushID?
    /// Deliveries that were made at accept; the others are counted when fan-outs claim them.
    let singles: Int
    let lane: Lane
    let options: DeliveryOptions

    init(row: Row) throws {
        seq = row[0]
        state = try MessageState(storedCase: row[7])
        completedAt = Timestamp(stored: row[10])
        chosenID = try (row[11] as String?).map { try PushID(stored: $0) }
        singles = row[15]
        lane = Lane(code: row[16])
        options = DeliveryOptions(
            rate: row[17], finishBy: Timestamp(stored: row[18]), collapsesRepeats: row[19])
        summary = MessageSummary(
            id: try MessageID(column: row[1]), project: try ProjectID(stored: row[2]),
            recipient: try Self.recipient(row), audience: row[6], acceptedAt: Timestamp(milliseconds: row[8]),
            expiresAt: Timestamp(milliseconds: row[9]), facts: try MessageFacts(row: row, from: 20),
            options: options)
    }

    private static func recipient(_ row: Row) throws -> Recipient<RegistrationID, Int> {
        if let topic: String = row[5] { return .topic(try Topic(stored: topic)) }
        if row[3] as Int64? != nil {
            guard let id: String = row[4] else { throw StoreError.invalid("a message without a recipient") }
            return .registration(try RegistrationID(stored: id))
        }
        if let text: String = row[12], let expression: String = row[13] {
            let condition = Condition(text: text, expression: try StoredExpression(stored: expression).expression)
            return .condition(condition)
        }
        if let user: String = row[14] { return .user(try UserID(stored: user), row[6]) }
        return .list(row[6])
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
