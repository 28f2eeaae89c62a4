import PushModel
import Store

/// What was asked for at the beginning of a transaction, and not read yet. No other statement has these texts, so that the
/// rows stay until they are read.
struct AskedRows {
    static let isRunning = "SELECT 1 FROM worker w WHERE w.id = ? AND w.ended_at IS NULL"
    static let clock = "SELECT m.value FROM meta m WHERE m.name = 'ledger_clock'"

    var worker: (id: WorkerID, rows: RowCursor)?
    var clock: RowCursor?
    var registrations: RowCursor?
    var messages: (any PreparedStatement)?

    /// Nothing.
    init() {}

    /// Asks for what writes look up.
    init(_ lookUps: LookUps, _ db: any Database) throws {
        worker = try lookUps.worker.map { ($0, try db.ask(Self.isRunning, [$0.rawValue])) }
        if lookUps.readsClock { clock = try db.ask(Self.clock) }
        if !lookUps.registrations.isEmpty { registrations = try Self.registrations(lookUps.registrations, db) }
        if !lookUps.messages.isEmpty {
            let rows = try db.statement(OpenMessageRow.byIDs)
            rows.bind(texts: Set(lookUps.messages).map(\.hexadecimal))
            try rows.askAhead()
            messages = rows
        }
    }

    /// Asks for registrations by their numbers.
    static func registrations(_ keys: [RegistrationKey], _ db: any Database) throws -> RowCursor {
        try db.ask(DeliveryRegistrationReader.byKeys, [Array(Set(keys.map(\.rawValue)))])
    }

}

/// What a step of settling reads of a message.
enum OpenMessageRow {
    static let columns =
        "seq, id, project, lane, state, accepted_at, apns_id, label, is_displayed, bytes, registration, worker"
    /// Of several, whose ids are given in hexadecimal digits; for PostgreSQL.
    static let byIDs = """
        SELECT \(columns) FROM message WHERE id = ANY (ARRAY(SELECT decode(value, 'hex') FROM texts(?)))
        """

    /// The id of the message that a row is of.
    static func id(of row: any ColumnReader) throws -> MessageID { try MessageID(column: row.bytes(1)) }
}
