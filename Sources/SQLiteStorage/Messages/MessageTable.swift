import Foundation
import GRDB
import PushModel
import Store

/// The message table within one transaction.
struct MessageTable {
    let db: Database

    static let byID = "SELECT \(MessageRow.columns) \(MessageRow.joins) WHERE m.id = ? AND m.project = ?"

    func find(_ id: MessageID, in project: ProjectID) throws -> MessageRow? {
        try db.row(Self.byID, [id.rawValue, project.rawValue]).map { try MessageRow(row: $0) }
    }

    static let source = "SELECT source FROM message WHERE seq = ?"

    /// What a message says.
    func body(_ seq: Int64) throws -> MessageBody {
        let source = try String.fetchOne(db.cachedStatement(sql: Self.source), arguments: [seq])
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

    static let project = "SELECT project FROM message WHERE seq = ?"
    static let load = "SELECT project, bytes FROM message WHERE seq = ?"

    /// Completes a message of a fan-out if nothing of it is open any more, in steps that settle nothing.
    func endIfDone(_ seq: Int64, at time: Timestamp) throws {
        guard try WriteTransaction(db: db).complete(seq, isSingle: false, at: time),
            let row = try db.row(Self.load, [seq])
        else { return }
        let project = try ProjectID(stored: row[0])
        try ProjectLoad(db: db).take(StoreLoad.Sum(messages: 1, bytes: row[1]), from: project)
        try EventTable(db: db).add(.settled(EventBody.Settled(complete: [seq])), of: project, at: time)
    }

    static let complete = """
        UPDATE message SET state = CASE state WHEN 'CANCELLED' THEN 'CANCELLED' ELSE 'COMPLETE' END, completed_at = ?1
        WHERE seq = ?2 AND completed_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM page WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM pending WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = ?2 AND +done = 0)
        """
}

extension WriteTransaction {
    private static let removeList = "DELETE FROM message_list WHERE message = ?"
    private static let removeSetAside = "DELETE FROM set_aside WHERE message = ?"

    /// Completes a message if nothing of it is open any more; a cancelled one stays cancelled.
    ///
    /// - Parameter isSingle: whether it went to one registration: then nothing of a fan-out goes with it.
    /// - Returns: whether it is complete with this step; its event and its load are the caller's.
    func complete(_ seq: Int64, isSingle: Bool, at time: Timestamp) throws -> Bool {
        let statement = try statement(.complete)
        statement.bind(time.milliseconds)
        statement.bind(seq)
        guard try statement.run() > 0 else { return false }
        guard !isSingle else { return true }
        try db.change(Self.removeList, [seq])
        try db.change(Self.removeSetAside, [seq])
        return true
    }
}
