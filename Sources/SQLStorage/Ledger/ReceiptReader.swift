import PushModel
import Store

/// Reads receipts in the order they were recorded: the part of an export that follows the ledger's.
struct ReceiptReader {
    let db: any Database
    let project: ProjectID
    let start: Timestamp
    let end: Timestamp

    static let recordedAt = "SELECT recorded_at FROM receipt WHERE id = ?"
    static let window = """
        SELECT e.id, e.registration, e.kind, e.time, \(LedgerMessage.columns), e.recorded_at
        FROM receipt e INDEXED BY receipt_by_project
        CROSS JOIN every_message m ON m.seq = e.message LEFT JOIN topic t ON t.id = m.topic
        WHERE e.project = ?1 AND e.recorded_at >= ?2 AND e.recorded_at < ?3 AND (e.recorded_at > ?2 OR e.id > ?4)
        ORDER BY e.recorded_at, e.id LIMIT ?5
        """

    func page(after last: Int64, limit: Int) throws -> [ExportRow] {
        // In the order of recording, whatever the order of ids: times that were ahead are set back.
        // What follows a page is not held against the start again, which moves on when retention takes a block.
        let from = try db.number(Self.recordedAt, [last]) ?? start.milliseconds
        let found = try db.rows(Self.window, [project.rawValue, from, end.milliseconds, last, limit])
        let names = try LedgerReader(db: db).names(of: found.map { $0[1] })
        let messages = try found.map { try LedgerMessage(row: $0, from: 4) }
        let differences = try MessagePlatformTable(db: db).differences(of: messages)
        return try zip(zip(found, messages), names).map { receipt, name in
            let (row, message) = receipt
            let kind = try ReceiptKind(code: row[2])
            let key = RegistrationKey(rawValue: row[1])
            let delivery = DeliveryRecord(
                registration: name.id, app: name.app, outcome: nil, reason: nil, history: AttemptHistory(),
                endedAt: nil, latencyMilliseconds: nil,
                pushID: message.chosenID ?? PushID(message: message.id, registration: key))
            return ExportRow(
                delivery: delivery, message: message.id, topic: message.topic,
                facts: differences.facts(of: message, on: name.app.platform),
                bulkID: message.isSingle ? nil : message.seq, cursor: PageCursor(.receipts, after: row[0]).text,
                receipt: Receipt(message: message.id, kind: kind, time: Timestamp(milliseconds: row[3])))
        }
    }
}
