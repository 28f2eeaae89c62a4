import Foundation
import GRDB
public import PushModel

extension SQLiteStore {
    /// Changes the state, and whether what the message has open can be claimed, in one transaction. Its time grows with
    /// the retries of the message that wait.
    public func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp
    ) async throws(StoreError) -> MessageState? {
        try await write { db in try ControlStep(db: db).apply(control, id, project, at: time) }
    }

    /// Looks at all paused messages: few are paused at any time.
    public func endExpiredPauses(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        let expired = try await read { db in
            try Int64.fetchAll(
                db.cachedStatement(sql: ControlStep.expiredPauses), arguments: [time.milliseconds, limit])
        }
        guard !expired.isEmpty else { return 0 }
        return try await write { db in
            try expired.count { try ControlStep(db: db).endPause($0) }
        }
    }

    /// Books in transactions of a bounded time, until `limit` deliveries were booked or nothing is left.
    public func bookCancelled(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        var booked = 0
        while booked < limit {
            let rest = limit - booked
            guard let count = try await write({ db in try ControlStep(db: db).bookNext(limit: rest, at: time) }) else {
                break
            }
            booked += count
        }
        return booked
    }
}

/// What an operator does to a message, within one transaction.
struct ControlStep {
    let db: Database

    static let state = "SELECT seq, state FROM message WHERE id = ? AND project = ?"
    static let expiredPauses = """
        SELECT m.seq FROM project p CROSS JOIN message m INDEXED BY message_open
        WHERE m.project = p.name AND m.state = 'PAUSED' AND m.state <> 'COMPLETE' AND m.expires_at <= ? LIMIT ?
        """
    static let hold = "UPDATE pending SET is_held = ?2 WHERE message = ?1"
    static let cancelled = """
        SELECT seq FROM message INDEXED BY message_cancelled
        WHERE state = 'CANCELLED' AND completed_at IS NULL AND seq > ? ORDER BY seq LIMIT 1
        """
    static let released = """
        SELECT id, interruptions, settled, keys, open FROM page INDEXED BY page_released
        WHERE message = ? AND worker IS NULL ORDER BY shard, id LIMIT 1
        """
    static let waiting = """
        SELECT registration, attempts, unknown_attempts, last_cause FROM pending
        WHERE message = ? AND worker IS NULL ORDER BY registration LIMIT ?
        """
    static let unclaimed = "SELECT shard FROM fan_out WHERE message = ? AND +done = 0 ORDER BY shard LIMIT 1"

    func apply(
        _ control: MessageControl, _ id: MessageID, _ project: ProjectID, at time: Timestamp
    ) throws -> MessageState? {
        guard let row = try db.row(Self.state, [id.rawValue, project.rawValue]) else { return nil }
        let (seq, name): (Int64, String) = (row[0], row[1])
        let state = try MessageState(storedCase: name)
        switch (control, state) {
        case (.pause, .active): return try set(.paused, seq)
        case (.resume, .paused): return try set(.active, seq)
        case (.cancel, .active), (.cancel, .paused):
            // What ends without a time of its own ends when the message was cancelled, at the earliest.
            _ = try LedgerClock(db: db).advance(to: time)
            return try set(.cancelled, seq)
        case (.pause, _), (.resume, _), (.cancel, _): return state
        }
    }

    /// Ends a pause, unless somebody else did.
    func endPause(_ seq: Int64) throws -> Bool {
        let state = try String.fetchOne(
            db.cachedStatement(sql: "SELECT state FROM message WHERE seq = ?"), arguments: [seq])
        guard state == MessageState.paused.rawValue else { return false }
        _ = try set(.active, seq)
        return true
    }

    private func set(_ state: MessageState, _ seq: Int64) throws -> MessageState {
        try db.change("UPDATE message SET state = ? WHERE seq = ?", [state.rawValue, seq])
        try FanOutTable(db: db).reopen(seq)
        try db.change(Self.hold, [seq, state != .active])
        return state
    }

    /// Books a part of what the oldest cancelled message that has something unclaimed left.
    ///
    /// - Returns: how many were booked, at most `limit`; `nil`: nothing is left.
    func bookNext(limit: Int, at time: Timestamp) throws -> Int? {
        var last: Int64 = 0
        while let message = try db.number(Self.cancelled, [last]) {
            last = message
            var step = try SettleStep(db: db, worker: WorkerID(rawValue: 0), newest: time)
            let booked =
                try bookReleased(message, limit, &step, time) ?? bookWaiting(message, limit, &step, time)
                ?? bookUnclaimed(message, limit, &step, time)
            guard let booked else { continue }
            _ = try step.finish()
            // A shard that had nobody left ends without a delivery.
            _ = try MessageTable(db: db).completeIfDone(message, at: time)
            return booked
        }
        return nil
    }

    private func bookReleased(
        _ message: Int64, _ limit: Int, _ step: inout SettleStep, _ time: Timestamp
    ) throws -> Int? {
        guard let row = try db.row(Self.released, [message]) else { return nil }
        let (id, interruptions, open): (Int64, Int, Int) = (row[0], row[1], row[4])
        var settled = KeyBitmap(row[2] as Data)
        var booked: [(key: Int64, history: AttemptHistory)] = []
        for (index, key) in try PackedKeys.keys(row[3]).enumerated() where booked.count < limit {
            if settled.settle(index) { booked.append((key, AttemptHistory(interruptions: interruptions))) }
        }
        if booked.count < open {
            try db.change(SettleStep.settlePage, [settled.data, open - booked.count, id])
        } else {
            try db.change(SettleStep.removePage, [id])
        }
        try step.bookCancelled(booked, of: message, at: time)
        return booked.count
    }

    private func bookWaiting(
        _ message: Int64, _ limit: Int, _ step: inout SettleStep, _ time: Timestamp
    ) throws -> Int? {
        let rows = try Row.fetchAll(db.cachedStatement(sql: Self.waiting), arguments: [message, limit])
        guard !rows.isEmpty else { return nil }
        let booked = rows.map { (key: $0[0] as Int64, history: AttemptHistory(row: $0, from: 1)) }
        for (key, _) in booked {
            try db.change(
                "DELETE FROM pending WHERE message = ? AND registration = ? AND worker IS NULL", [message, key])
        }
        try step.bookCancelled(booked, of: message, at: time)
        return booked.count
    }

    /// Counts the rest of a shard, as if it was claimed, and books it.
    private func bookUnclaimed(
        _ message: Int64, _ limit: Int, _ step: inout SettleStep, _ time: Timestamp
    ) throws -> Int? {
        guard let number = try db.number(Self.unclaimed, [message]),
            let shard = try Shard(OpenFanOut.ID(message: message, shard: number), in: db)
        else { return nil }
        var reader = CandidateReader(db: db, shard: shard)
        let found = try reader.next(min(limit, CandidateReader.lookLimit))
        _ = try FanOutTable(db: db).moveCursor(of: shard, past: found, isAtEnd: found.isAtEnd)
        try step.bookCancelled(
            found.registrations.lazy.map { ($0.key.rawValue, AttemptHistory()) }, of: message, at: time)
        return found.registrations.count
    }
}
