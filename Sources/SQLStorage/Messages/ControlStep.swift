package import PushModel
package import Store

extension SQLStore {
    /// Changes the state in one transaction, and marks the retries of the message that wait in steps of their own, so that
    /// other writes come between: claims look at the state, the marks only keep what is paused out of their way.
    package func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState? {
        if control == .resume, let seq = try await read({ db in try ControlStep(db: db).paused(id, project) }) {
            try await mark(seq, isHeld: false)
        }
        let change = try await write(telling: .control) { db in
            try ControlStep(db: db).apply(control, id, project, at: time, by: credential)
        }
        if let change, change.isNew, change.state != .active { try await mark(change.seq, isHeld: true) }
        return change?.state
    }

    /// Looks at all paused messages: few are paused at any time.
    package func endExpiredPauses(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        let expired = try await read { db in
            try db.numbers(ControlStep.expiredPauses, [time.milliseconds, limit])
        }
        var ended = 0
        for seq in expired {
            try await mark(seq, isHeld: false)
            if try await write(.settlement, { db in try ControlStep(db: db).endPause(seq, at: time) }) { ended += 1 }
        }
        return ended
    }

    /// Marks the retries of a message as held, or not, as long as its state is one that asks for it.
    private func mark(_ seq: Int64, isHeld: Bool) async throws(StoreError) {
        var last: Int64? = 0
        while let after = last {
            last = try await write(.settlement, rows: ControlStep.markingStep) { db in
                try ControlStep(db: db).mark(seq, after: after, isHeld: isHeld)
            }
        }
    }

    /// Books in transactions of a bounded time, until `limit` deliveries were booked or nothing is left.
    package func bookCancelled(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        // It is asked for all the time, and there is seldom anything.
        guard try await read({ db in try db.number(ControlStep.cancelled, [Int64(0)]) != nil }) else { return 0 }
        var booked = 0
        while booked < limit {
            let rest = min(limit - booked, ControlStep.bookingStep)
            let part = try await write(.settlement, rows: rest) { db in
                try ControlStep(db: db).bookNext(limit: rest, at: time)
            }
            switch part {
            case .booked(let count, let ends)?:
                keep(ends)
                booked += count
            case .unclaimed(let shard)?: booked += try await book(shard, limit: rest, at: time)
            case nil: return booked
            }
        }
        return booked
    }

    /// Looks for recipients of a cancelled shard beside the writer, as a claim does, and books them.
    func book(
        _ shard: OpenFanOut.ID, as outcome: LedgerOutcome = .cancelled, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Int {
        let found = try await read { db -> (shard: Shard, candidates: Candidates)? in
            guard let shard = try Shard(shard, in: db), !shard.isDone else { return nil }
            var reader = CandidateReader(db: db, shard: shard)
            return (shard, try reader.next(limit))
        }
        guard let found else { return 0 }
        let (count, ends) = try await write(.settlement, rows: found.candidates.registrations.count) { db in
            try ControlStep(db: db).book(found.candidates, of: found.shard, as: outcome, at: time)
        }
        keep(ends)
        return count
    }
}

/// What an operator does to a message, within one transaction.
struct ControlStep {
    let db: any Database

    static let state = "SELECT seq, state FROM every_message WHERE id = ? AND project = ?"
    static let expiredPauses = """
        SELECT m.seq FROM project p CROSS JOIN message m INDEXED BY message_open
        WHERE m.project = p.name AND m.state = 'PAUSED' AND m.state <> 'COMPLETE' AND m.expires_at <= ? LIMIT ?
        """
    static let release = "UPDATE pending SET is_held = 0 WHERE message = ? AND is_held = 1"
    static let markingEnd = """
        SELECT max(registration) FROM (
            SELECT registration FROM pending WHERE message = ? AND registration > ? ORDER BY registration
            LIMIT \(markingStep)) p
        """
    static let mark = """
        UPDATE pending SET is_held = ?4 WHERE message = ?1 AND registration > ?2 AND registration <= ?3 AND is_held <> ?4
        """
    /// Rows that are looked at in one step of marking.
    static let markingStep = 1000
    /// Deliveries that are booked in one transaction, at most.
    static let bookingStep = 2000
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
    static let waitingUnprobed = """
        SELECT registration, attempts, unknown_attempts, last_cause FROM pending
        WHERE message = ? AND worker IS NULL AND refused_by IS NULL ORDER BY registration LIMIT ?
        """
    static let unclaimed = "SELECT shard FROM fan_out WHERE message = ? AND +done = 0 ORDER BY shard LIMIT 1"

    /// The same on one platform; `nil`: on all.
    static func waitingUnprobed(on platform: Platform?) -> String {
        guard let platform else { return waitingUnprobed }
        return """
            SELECT p.registration, p.attempts, p.unknown_attempts, p.last_cause
            FROM pending p CROSS JOIN route r ON r.id = p.route
            WHERE p.message = ? AND p.worker IS NULL AND p.refused_by IS NULL AND r.channel IN (\(channels(of: platform)))
            ORDER BY p.registration LIMIT ?
            """
    }

    /// A shard that has only recipients on one platform: those that were set aside for a route; `nil`: any shard.
    static func unclaimed(on platform: Platform?) -> String {
        guard let platform else { return unclaimed }
        return """
            SELECT f.shard FROM fan_out f CROSS JOIN route r ON r.id = f.only_route
            WHERE f.message = ? AND +f.done = 0 AND r.channel IN (\(channels(of: platform))) ORDER BY f.shard LIMIT 1
            """
    }

    private static func channels(of platform: Platform) -> String {
        Channel.all.filter { $0.platform == platform }.map { String($0.code) }.joined(separator: ", ")
    }

    /// What a command did to a message.
    struct Change: Sendable {
        let seq: Int64
        /// The state after it.
        let state: MessageState
        /// Whether it was another one before.
        var isNew = false
    }

    /// The number of a message that is paused.
    func paused(_ id: MessageID, _ project: ProjectID) throws -> Int64? {
        guard let row = try db.row(Self.state, [id.column, project.rawValue]) else { return nil }
        return row[1] == MessageState.paused.rawValue ? row[0] : nil
    }

    func apply(
        _ control: MessageControl, _ id: MessageID, _ project: ProjectID, at time: Timestamp,
        by credential: CredentialUse
    ) throws -> Change? {
        guard let row = try db.row(Self.state, [id.column, project.rawValue]) else { return nil }
        let (seq, name): (Int64, String) = (row[0], row[1])
        let state = try MessageState(storedCase: name)
        let action: AuditAction
        let next: MessageState
        switch (control, state) {
        case (.pause, .active): (action, next) = (.messagePaused, .paused)
        case (.resume, .paused): (action, next) = (.messageResumed, .active)
        case (.cancel, .active), (.cancel, .paused):
            (action, next) = (.messageCancelled, .cancelled)
            // What ends without a time of its own ends when the message was cancelled, at the earliest.
            _ = try LedgerClock(db: db).advance(to: time)
        case (.pause, _), (.resume, _), (.cancel, _): return Change(seq: seq, state: state)
        }
        try AuditLogTable(db: db).add(
            AuditEntry(time: time, project: project, action: action, subject: id.rawValue, credential: credential))
        return try set(next, seq, at: time)
    }

    /// Ends a pause, unless somebody else did.
    func endPause(_ seq: Int64, at time: Timestamp) throws -> Bool {
        guard try state(seq) == .paused else { return false }
        _ = try set(.active, seq, at: time)
        return true
    }

    private func state(_ seq: Int64) throws -> MessageState? {
        let name = try db.text("SELECT state FROM message WHERE seq = ?", [seq])
        return try name.map { try MessageState(storedCase: $0) }
    }

    /// What is active again waits for nothing: what came or was left since it was marked is released with the state.
    private func set(_ state: MessageState, _ seq: Int64, at time: Timestamp) throws -> Change {
        try db.change("UPDATE message SET state = ? WHERE seq = ?", [state.rawValue, seq])
        try FanOutTable(db: db).reopen(seq)
        if state == .active { try db.change(Self.release, [seq]) }
        guard let row = try db.row(MessageTable.project, [seq]) else { throw StoreError.invalid("a message") }
        let control: EventBody.Control = state == .active ? .resumed : state == .paused ? .paused : .cancelled
        try EventTable(db: db).add(
            .controlled(message: seq, control), of: try ProjectID(stored: row[0]), at: time)
        return Change(seq: seq, state: state, isNew: true)
    }

    /// Marks some retries of a message that is not active as held; or, of one that is paused and about to go on, as not
    /// held.
    ///
    /// - Returns: the last key that was looked at; `nil`: none is left, or the state is another one by now.
    func mark(_ seq: Int64, after key: Int64, isHeld: Bool) throws -> Int64? {
        guard let state = try state(seq), isHeld ? state != .active : state == .paused,
            let end = try db.number(Self.markingEnd, [seq, key])
        else { return nil }
        try db.change(Self.mark, [seq, key, end, isHeld])
        return end
    }

    /// What a step of booking came to.
    enum Booking: Sendable {
        /// So many deliveries were booked; the same for counters.
        case booked(Int, OwnEnds)
        /// Nothing but this shard is left of the message.
        case unclaimed(OpenFanOut.ID)
    }

    /// Books a part of what the oldest cancelled message that has something unclaimed left, at most `limit` deliveries.
    ///
    /// - Returns: `nil`: nothing is left.
    func bookNext(limit: Int, at time: Timestamp) throws -> Booking? {
        var last: Int64 = 0
        while let message = try db.number(Self.cancelled, [last]) {
            last = message
            var step = try SettleStep(db: db, worker: WorkerID(rawValue: 0), newest: time)
            let booked =
                try bookReleased(message, limit, as: .cancelled, &step, time)
                ?? bookWaiting(message, limit, as: .cancelled, &step, time)
            guard let booked else {
                guard let shard = try db.number(Self.unclaimed, [message]) else { continue }
                return .unclaimed(OpenFanOut.ID(message: message, shard: shard))
            }
            _ = try step.finish()
            return .booked(booked, step.ownEnds)
        }
        return nil
    }

    /// Books what a page has that its worker left.
    func bookReleased(
        _ message: Int64, _ limit: Int, as outcome: LedgerOutcome, _ step: inout SettleStep, _ time: Timestamp
    ) throws -> Int? {
        guard let row = try db.row(Self.released, [message]) else { return nil }
        let (id, interruptions, open): (Int64, Int, Int) = (row[0], row[1], row[4])
        var settled = KeyBitmap(row[2] as [UInt8])
        var booked: [(key: Int64, history: AttemptHistory)] = []
        for (index, key) in try PackedKeys.keys(row[3]).enumerated() where booked.count < limit {
            if settled.settle(index) { booked.append((key, AttemptHistory(interruptions: interruptions))) }
        }
        if booked.count < open {
            try db.change(SettleStep.settlePage, [settled.bytes, open - booked.count, id])
        } else {
            try db.change(SettleStep.removePage, [id])
        }
        try step.book(booked, of: message, as: outcome, at: time)
        return booked.count
    }

    /// Books what waits for an attempt; of a message that expired not what is to probe, which has an answer of APNs.
    ///
    /// - Parameter platform: where it expired; `nil`: everywhere.
    func bookWaiting(
        _ message: Int64, _ limit: Int, as outcome: LedgerOutcome, on platform: Platform? = nil,
        _ step: inout SettleStep, _ time: Timestamp
    ) throws -> Int? {
        let sql = outcome == .cancelled ? Self.waiting : Self.waitingUnprobed(on: platform)
        let rows = try db.rows(sql, [message, limit])
        guard !rows.isEmpty else { return nil }
        let booked = rows.map { (key: $0[0] as Int64, history: AttemptHistory(row: $0, from: 1)) }
        for (key, _) in booked {
            try db.change(
                "DELETE FROM pending WHERE message = ? AND registration = ? AND worker IS NULL", [message, key])
        }
        try step.book(booked, of: message, as: outcome, at: time)
        return booked.count
    }

    /// Counts recipients of a shard that were read, as if they were claimed, and books them; none if the shard changed
    /// since.
    func book(
        _ found: Candidates, of shard: Shard, as outcome: LedgerOutcome = .cancelled, at time: Timestamp
    ) throws -> (count: Int, ends: OwnEnds) {
        let (message, count) = (shard.id.message, found.registrations.count)
        guard try FanOutTable(db: db).moveCursor(of: shard, past: found, isAtEnd: found.isAtEnd) else {
            return (0, OwnEnds())
        }
        var step = try SettleStep(db: db, worker: WorkerID(rawValue: 0), newest: time)
        try step.book(
            found.registrations.lazy.map { ($0.key.rawValue, AttemptHistory()) }, of: message, as: outcome, at: time)
        _ = try step.finish()
        if outcome != .cancelled { try FanOutTable(db: db).reopen(message) }
        // A shard that had no recipient left ends without a delivery.
        try MessageTable(db: db).endIfDone(message, at: time)
        return (count, step.ownEnds)
    }
}
