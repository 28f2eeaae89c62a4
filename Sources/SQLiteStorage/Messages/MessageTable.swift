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

    /// Completes the message if nothing of it is open any more; a cancelled one stays cancelled.
    ///
    /// - Returns: whether it is complete with this step; the event is the caller's.
    func completeIfDone(_ seq: Int64, at time: Timestamp) throws -> Bool {
        try db.change(Self.complete, [time.milliseconds, seq]) > 0
    }

    static let project = "SELECT project FROM message WHERE seq = ?"

    /// As ``completeIfDone(_:at:)``, with the event of it, in steps that settle nothing.
    func endIfDone(_ seq: Int64, at time: Timestamp) throws {
        guard try completeIfDone(seq, at: time), let row = try db.row(Self.project, [seq]) else { return }
        try EventTable(db: db).add(
            .settled(EventBody.Settled(complete: [seq])), of: try ProjectID(stored: row[0]), at: time)
    }

    static let complete = """
        UPDATE message SET state = CASE state WHEN 'CANCELLED' THEN 'CANCELLED' ELSE 'COMPLETE' END, completed_at = ?1
        WHERE seq = ?2 AND completed_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM page WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM pending WHERE message = ?2)
            AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = ?2 AND +done = 0)
        """
}
