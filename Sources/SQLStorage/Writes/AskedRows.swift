import PushModel
import Store

/// What was asked for at the beginning of a transaction, and not read yet. No other statement has these texts, so that the
/// rows stay until they are read.
struct AskedRows {
    static let isRunning = "SELECT 1 FROM worker w WHERE w.id = ? AND w.ended_at IS NULL"
    private static let clock = "SELECT m.value FROM meta m WHERE m.name = 'ledger_clock'"
    /// What each settlement looks up.
    static let workerAndClock = "SELECT (\(isRunning)), (\(clock))"
    /// For PostgreSQL, as the next one: the identities of these tables are sequences of these names.
    static let blocks = "SELECT nextval('ledger_block_id_seq') FROM numbers(?)"
    static let sequence = "SELECT nextval('message_seq_seq') FROM numbers(?)"

    var worker: (id: WorkerID, rows: RowCursor)?
    var workerAndClock: (id: WorkerID, rows: RowCursor)?
    var registrations: RowCursor?
    var messages: (any PreparedStatement)?
    /// Numbers for ledger blocks.
    var blocks: RowCursor?
    /// Numbers for messages.
    var sequence: RowCursor?

    /// Nearly all that ends singly in a transaction is in two blocks: what was accepted, and what was not.
    private static let blockCount = 2

    /// Nothing.
    init() {}

    /// Asks for what writes look up.
    init(_ lookUps: LookUps, _ db: any Database) throws {
        if let worker = lookUps.worker {
            if lookUps.readsClock {
                workerAndClock = (worker, try db.ask(Self.workerAndClock, [worker.rawValue]))
            } else {
                self.worker = (worker, try db.ask(Self.isRunning, [worker.rawValue]))
            }
        }
        if lookUps.readsClock, !lookUps.messages.isEmpty {
            blocks = try db.ask(Self.blocks, [Self.places(Self.blockCount)])
        }
        if lookUps.worker != nil, !lookUps.registrations.isEmpty {
            sequence = try db.ask(Self.sequence, [Self.places(lookUps.registrations.count)])
        }
        if !lookUps.registrations.isEmpty {
            registrations = try Self.askRegistrations(lookUps.registrations, db)
        }
        if !lookUps.messages.isEmpty {
            let rows = try db.statement(OpenMessageRow.byIDs)
            rows.bind(texts: Set(lookUps.messages).map(\.hexadecimal))
            try rows.askAhead()
            messages = rows
        }
    }

    private static func places(_ count: Int) -> [Int64] { (0..<count).map(Int64.init) }

    /// Forgets what may not be true any more. A block that was written meanwhile has a higher number than those that are left.
    mutating func forget() { (worker, workerAndClock, registrations, messages, blocks) = (nil, nil, nil, nil, nil) }

    /// Asks for registrations by their keys.
    static func askRegistrations(_ keys: [RegistrationKey], _ db: any Database) throws -> RowCursor {
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
