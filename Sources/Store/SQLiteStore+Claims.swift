import GRDB
public import PushModel

extension SQLiteStore {
    /// Claims pages that were given back first, then from the fan-out whose turn it is.
    public func claimPage(limit: Int, at time: Timestamp) async throws(StoreError) -> FanOutPage? {
        try await write { db in try FanOutTable(db: db).claimPage(limit: limit, at: time) }
    }

    /// Claims pending deliveries, the longest due first, with their registrations as they are now.
    public func claimDue(
        _ lane: Lane, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        try await write { db in try PendingTable(db: db).claim(lane, limit: limit, at: time) }
    }

    /// When the next pending delivery of a lane falls due.
    public func nextDue(_ lane: Lane, after time: Timestamp) async throws(StoreError) -> Timestamp? {
        try await read { db in
            Timestamp(stored: try db.number(PendingTable.next, [lane.code, time.milliseconds]))
        }
    }
}

/// Single deliveries and retries within one transaction.
struct PendingTable {
    let db: Database

    static let due = """
        SELECT m.id, m.project, p.attempts, p.unknown_attempts, p.last_cause, p.message, m.accepted_at, m.expires_at,
            p.probing_since, p.refused_by, \(Registration.columns)
        FROM pending p INDEXED BY pending_due
        CROSS JOIN message m ON m.seq = p.message
        CROSS JOIN registration r ON r.key = p.registration
        WHERE p.lane = ? AND p.claimed = 0 AND p.not_before <= ? ORDER BY p.not_before LIMIT ?
        """
    static let next = """
        SELECT not_before FROM pending INDEXED BY pending_due
        WHERE lane = ? AND claimed = 0 AND not_before > ? ORDER BY not_before LIMIT 1
        """

    func claim(_ lane: Lane, limit: Int, at time: Timestamp) throws -> [ClaimedDelivery] {
        var claimed: [ClaimedDelivery] = []
        var messages: [Int64] = []
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: Self.due), arguments: [lane.code, time.milliseconds, limit])
        while let row = try rows.next() {
            messages.append(row[5])
            var history = AttemptHistory(row: row, from: 2)
            history.probingSince = Timestamp(stored: row[8])
            if let refusedBy: String = row[9] { history.refusedBy = try APNSEnvironment(storedCase: refusedBy) }
            claimed.append(
                ClaimedDelivery(
                    message: try MessageID(stored: row[0]), project: try ProjectID(stored: row[1]),
                    acceptedAt: Timestamp(milliseconds: row[6]), expiresAt: Timestamp(milliseconds: row[7]),
                    registration: try Registration(row: row, from: 10), page: nil, history: history))
        }
        // After the cursor is done: the update changes the index that it walks.
        let mark = try db.cachedStatement(sql: "UPDATE pending SET claimed = 1 WHERE message = ? AND registration = ?")
        for (message, delivery) in zip(messages, claimed) {
            try mark.execute(arguments: [message, delivery.registration.key.rawValue])
        }
        return claimed
    }
}

/// Fan-outs and their pages within one transaction.
struct FanOutTable {
    let db: Database

    /// A part of a shard: the subscribers with keys in (`after`, `last`].
    private struct Range {
        let message: Int64
        let shard: Int64
        let topic: Int64
        let lastSubscription: Int64
        let after: Int64
        let last: Int64
        /// How often a run ended while it held this part.
        let interruptions: Int

        /// Reads message, shard, topic, last_subscription, after_key, last_key and interruptions.
        init(row: Row) {
            message = row[0]
            shard = row[1]
            topic = row[2]
            lastSubscription = row[3]
            after = row[4]
            last = row[5]
            interruptions = row[6]
        }
    }

    static let turn = """
        SELECT message, shard, topic, last_subscription, after_key, last_key, 0 FROM fan_out INDEXED BY fan_out_turn
        WHERE done = 0 ORDER BY served, message, shard LIMIT 1
        """
    static let released = """
        SELECT p.message, p.shard, f.topic, f.last_subscription, p.after_key, p.last_key,
            p.interruptions, p.id, p.claimed - p.settled
        FROM page p INDEXED BY page_released CROSS JOIN fan_out f ON f.message = p.message AND f.shard = p.shard
        WHERE p.released = 1 ORDER BY p.id LIMIT 1
        """
    static let subscribers = """
        SELECT \(Registration.columns) FROM subscription s CROSS JOIN registration r ON r.key = s.registration
        WHERE s.topic = ?1 AND s.registration > ?2 AND s.registration <= ?3 AND s.number <= ?4
            AND r.ended_at IS NULL AND r.quarantined_at IS NULL
        ORDER BY s.registration LIMIT ?5
        """
    static let openSubscribers = """
        SELECT \(Registration.columns) FROM subscription s CROSS JOIN registration r ON r.key = s.registration
        WHERE s.topic = ?1 AND s.registration > ?2 AND s.registration <= ?3 AND s.number <= ?4
            AND r.ended_at IS NULL AND r.quarantined_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.message = ?6 AND l.registration = s.registration)
            AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.message = ?6 AND p.registration = s.registration)
        ORDER BY s.registration LIMIT ?5
        """
    static let newestTurn = """
        SELECT served FROM fan_out INDEXED BY fan_out_turn WHERE done = 0 ORDER BY served DESC LIMIT 1
        """

    /// The turn of the fan-out that was served last; each serving takes the next number.
    func lastTurn() throws -> Int64 {
        try db.number(Self.newestTurn) ?? 0
    }

    func claimPage(limit: Int, at time: Timestamp) throws -> FanOutPage? {
        guard limit > 0 else { return nil }
        while let row = try db.row(Self.released, []) {
            let page = try claimAgain(Range(row: row), id: row[7], open: row[8], limit, time)
            if let page { return page }
        }
        while let row = try db.row(Self.turn, []) {
            if let page = try claimNext(Range(row: row), limit, time) { return page }
        }
        return nil
    }

    /// Claims from a shard's cursor. One subscriber more than the limit is read, so that the shard is known to be at its
    /// end with its last page, and its message completes when that is settled.
    private func claimNext(_ range: Range, _ limit: Int, _ time: Timestamp) throws -> FanOutPage? {
        var found = try subscribers(Self.subscribers, range, limit: limit + 1)
        let isLast = found.count <= limit
        if !isLast { found.removeLast() }
        let cursor = isLast ? range.last : found[limit - 1].key.rawValue
        try db.change(
            """
            UPDATE fan_out SET after_key = ?, claimed = claimed + ?, served = ?, done = ?
            WHERE message = ? AND shard = ?
            """,
            [cursor, found.count, try lastTurn() + 1, isLast, range.message, range.shard])
        guard !found.isEmpty else {
            _ = try MessageTable(db: db).completeIfDone(range.message, at: time)
            return nil
        }
        try insertPage(range, after: range.after, cursor, Int64(found.count), isReleased: false)
        return try page(db.lastInsertedRowID, range, found)
    }

    /// Hands a page out again that an earlier run had claimed. What it had settled is in the ledger or pending. Of the
    /// rest, those that are gone meanwhile were never sent to for all the store knows: they leave the count of claimed
    /// deliveries, so that page and fan-out agree with what is really open.
    ///
    /// - Parameter open: deliveries of the page that count as in flight.
    private func claimAgain(
        _ range: Range, id: Int64, open: Int64, _ limit: Int, _ time: Timestamp
    ) throws -> FanOutPage? {
        var found = try subscribers(Self.openSubscribers, range, limit: limit + 1)
        let isWhole = found.count <= limit
        if !isWhole { found.removeLast() }
        try db.change("DELETE FROM page WHERE id = ?", [id])
        var stillOpen = Int64(found.count)
        if !isWhole {
            // A smaller page size than in the earlier run: the rest becomes a page of its own, counted when it is read.
            let rest = max(1, open - stillOpen)
            stillOpen += rest
            try insertPage(range, after: found[limit - 1].key.rawValue, range.last, rest, isReleased: true)
        }
        try db.change(
            "UPDATE fan_out SET claimed = claimed + ? WHERE message = ? AND shard = ?",
            [stillOpen - open, range.message, range.shard])
        guard let last = found.last else {
            _ = try MessageTable(db: db).completeIfDone(range.message, at: time)
            return nil
        }
        let end = isWhole ? range.last : last.key.rawValue
        try insertPage(range, after: range.after, end, Int64(found.count), isReleased: false)
        return try page(db.lastInsertedRowID, range, found)
    }

    private func insertPage(
        _ range: Range, after: Int64, _ last: Int64, _ claimed: Int64, isReleased: Bool
    ) throws {
        try db.change(
            """
            INSERT INTO page (message, shard, after_key, last_key, claimed, released, interruptions)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [range.message, range.shard, after, last, claimed, isReleased, range.interruptions])
    }

    private func subscribers(_ sql: String, _ range: Range, limit: Int) throws -> [Registration] {
        var arguments: StatementArguments = [range.topic, range.after, range.last, range.lastSubscription, limit]
        if sql == Self.openSubscribers { arguments += [range.message] }
        var found: [Registration] = []
        let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
        while let row = try rows.next() {
            found.append(try Registration(row: row))
        }
        return found
    }

    private func page(_ id: Int64, _ range: Range, _ registrations: [Registration]) throws -> FanOutPage {
        guard
            let row = try db.row(
                "SELECT id, project, accepted_at, expires_at FROM message WHERE seq = ?", [range.message])
        else {
            throw StoreError.invalid("a fan-out")
        }
        let message = try MessageID(stored: row[0])
        let project = try ProjectID(stored: row[1])
        let acceptedAt = Timestamp(milliseconds: row[2])
        let expiresAt = Timestamp(milliseconds: row[3])
        let pageID = FanOutPage.ID(rawValue: id)
        return FanOutPage(
            id: pageID, message: message,
            deliveries: registrations.map {
                ClaimedDelivery(
                    message: message, project: project, acceptedAt: acceptedAt, expiresAt: expiresAt, registration: $0,
                    page: pageID, history: AttemptHistory(interruptions: range.interruptions))
            })
    }
}
