import PushModel
import Store

/// The message table within one transaction.
struct MessageTable {
    let db: any Database

    static let byID = "SELECT \(MessageRow.columns) \(MessageRow.joins) WHERE m.id = ? AND m.project = ?"

    func find(_ id: MessageID, in project: ProjectID) throws -> MessageRow? {
        try db.row(Self.byID, [id.column, project.rawValue]).map { try MessageRow(row: $0) }
    }

    static let source = "SELECT source FROM every_message WHERE seq = ?"

    /// What a message says.
    func body(_ seq: Int64) throws -> MessageBody {
        let source = try db.text(Self.source, [seq])
        guard let source else { throw StoreError.invalid("a message") }
        return .stored(Array(source.utf8))
    }

    func message(_ id: MessageID, in project: ProjectID) throws -> Message? {
        guard let row = try find(id, in: project) else { return nil }
        return Message(
            id: row.summary.id, project: row.summary.project, recipient: row.summary.recipient,
            audience: row.summary.audience,
            body: try body(row.seq), options: row.options, lane: row.lane, acceptedAt: row.summary.acceptedAt,
            expiresAt: row.summary.expiresAt)
    }

    /// The ledger block of a message to one registration.
    static let block = "SELECT block FROM every_message WHERE seq = ?"

    /// The end of the only delivery of a message to one registration, as a block of its own; `nil`: it has not ended.
    ///
    /// - Throws: `.failed` when its block is damaged.
    func entry(of seq: Int64) throws -> LedgerBlock? {
        guard let id = try db.number(Self.block, [seq]) else { return nil }
        let data = try db.bytes(Self.entries, [id])
        // Any damage is told as one error.
        guard let data, let block = try? LedgerBlock(decoding: data), let index = block.index(ofMessage: seq) else {
            throw StoreError.invalid("ledger block \(id)")
        }
        return LedgerBlock(entries: [block.entries[index]], reasons: block.reasons)
    }

    static let entries = "SELECT entries FROM ledger_block WHERE id = ?"
    static let openNumber = "SELECT seq FROM message WHERE id = ? AND project = ? AND completed_at IS NULL"
    static let project = "SELECT project FROM message WHERE seq = ?"
    static let load = "SELECT project, bytes FROM message WHERE seq = ?"

    /// Completes a message of a fan-out if nothing of it is open any more, in steps that settle nothing.
    func endIfDone(_ seq: Int64, at time: Timestamp) throws {
        guard try WriteTransaction(db: db).complete(seq, at: time),
            let row = try db.row(Self.load, [seq])
        else { return }
        let project = try ProjectID(stored: row[0])
        try ProjectLoad(db: db).take(StoreLoad.Sum(messages: 1, bytes: row[1]), from: project)
        try EventTable(db: db).add(.settled(EventBody.Settled(complete: [seq])), of: project, at: time)
    }

    static let complete = """
        UPDATE message SET state = CASE state WHEN 'CANCELLED' THEN 'CANCELLED' ELSE 'COMPLETE' END, completed_at = ?1,
            block = ?3
        WHERE seq = ?2 AND completed_at IS NULL AND worker IS NULL
            AND NOT EXISTS (SELECT 1 FROM page WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM pending WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = ?2 AND +done = 0)
        """
    static let completeClaimed = """
        UPDATE message SET state = CASE state WHEN 'CANCELLED' THEN 'CANCELLED' ELSE 'COMPLETE' END, completed_at = ?1,
            block = ?3, worker = NULL, route = NULL
        WHERE seq = ?2 AND worker = ?4
        """
}

extension WriteTransaction {
    private static let removeList = "DELETE FROM message_list WHERE message = ?"
    private static let removeSetAside = "DELETE FROM set_aside WHERE message = ?"

    /// Completes a message with the end of its only delivery, which it names as claimed; a cancelled one stays cancelled.
    /// Its event and its load are the caller's, who has read in this transaction that `worker` has it.
    ///
    /// - Parameter block: the ledger block with its entry.
    func completeClaimed(_ seq: Int64, by worker: WorkerID, at time: Timestamp, block: Int64?) throws {
        let statement = try statement(.completeClaimed, MessageTable.completeClaimed)
        statement.bind(time.milliseconds)
        statement.bind(seq)
        statement.bind(block)
        statement.bind(worker.rawValue)
        try statement.post()
    }

    /// Completes a message if nothing of it is open any more; a cancelled one stays cancelled.
    ///
    /// - Parameter block: the ledger block with the entry of a message to one registration: nothing of a fan-out goes with
    ///   it.
    /// - Returns: whether it is complete with this step; its event and its load are the caller's.
    func complete(_ seq: Int64, at time: Timestamp, block: Int64? = nil) throws -> Bool {
        let statement = try statement(.complete, MessageTable.complete)
        statement.bind(time.milliseconds)
        statement.bind(seq)
        statement.bind(block)
        guard try statement.run() > 0 else { return false }
        guard block == nil else { return true }
        try db.post(Self.removeList, [seq])
        try db.post(Self.removeSetAside, [seq])
        return true
    }
}
