package import PushModel
package import Store

extension SQLStore {
    /// Looks at all active messages beside the writer, then books in transactions of a bounded time.
    package func bookExpired(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        let expired = try await read { db in try ExpiryReader(db: db).expired(at: time) }
        var rest = expired[...]
        var booked = 0
        var emptied: OpenFanOut.ID?
        while booked < limit, !rest.isEmpty {
            let (parts, room) = (rest.prefix(ControlStep.expiryStep), min(limit - booked, ControlStep.bookingStep))
            let part = try await write(.settlement, rows: room) { db in
                try ControlStep(db: db).bookExpired(parts, limit: room, at: time)
            }
            keep(part.ends)
            booked += part.booked
            rest = rest.dropFirst(part.done)
            guard let shard = part.unclaimed else { continue }
            let count = try await book(shard, as: .expired, limit: room - part.booked, at: time)
            booked += count
            // The shard had no recipient left, and the message may have others; or claims were faster, again and again.
            if count == 0, shard == emptied { rest = rest.dropFirst() }
            emptied = count == 0 ? shard : nil
        }
        return booked
    }
}

/// What has expired: a message, or what of it is on one platform.
struct ExpiredPart: Hashable, Sendable {
    let message: Int64
    /// `nil`: all of it.
    let platform: Platform?
}

/// Finds what has expired, within one snapshot.
struct ExpiryReader {
    let db: any Database

    static let messages = """
        SELECT m.seq FROM project p CROSS JOIN message m INDEXED BY message_open
        WHERE m.project = p.name AND m.state = 'ACTIVE' AND m.state <> 'COMPLETE' AND m.expires_at <= ?
        """
    /// Those of messages that live on elsewhere.
    static let platforms = """
        SELECT m.seq, f.platform FROM project p CROSS JOIN message m INDEXED BY message_open
        CROSS JOIN message_platform f ON f.message = m.seq
        WHERE m.project = p.name AND m.state = 'ACTIVE' AND m.state <> 'COMPLETE' AND m.expires_at > ?1
            AND f.expires_at <= ?1
        """

    /// Messages first. A platform is among them as long as something waits there: what is claimed ends by itself.
    func expired(at time: Timestamp) throws -> [ExpiredPart] {
        var parts = try db.numbers(Self.messages, [time.milliseconds]).map { ExpiredPart(message: $0, platform: nil) }
        for row in try db.rows(Self.platforms, [time.milliseconds]) {
            let part = ExpiredPart(message: row[0], platform: try Platform(stored: row[1]))
            if try hasOpen(part) { parts.append(part) }
        }
        return parts
    }

    private func hasOpen(_ part: ExpiredPart) throws -> Bool {
        if try db.row(ControlStep.waitingUnprobed(on: part.platform), [part.message, 1]) != nil { return true }
        return try db.number(ControlStep.unclaimed(on: part.platform), [part.message]) != nil
    }
}

extension ControlStep {
    static let isExpired = "SELECT 1 FROM message WHERE seq = ? AND state = 'ACTIVE' AND expires_at <= ?"
    static let isExpiredOnPlatform = """
        SELECT 1 FROM message m CROSS JOIN message_platform f ON f.message = m.seq
        WHERE m.seq = ? AND m.state = 'ACTIVE' AND f.expires_at <= ? AND f.platform = ?
        """
    /// Parts that are looked at in one transaction.
    static let expiryStep = 500

    /// What a step of booking came to.
    struct Expiry: Sendable {
        /// Deliveries that were booked.
        var booked = 0
        /// The same for counters.
        var ends = OwnEnds()
        /// Parts, from the first, of which nothing is left to book.
        var done = 0
        /// A shard of the message behind those that has unclaimed recipients.
        var unclaimed: OpenFanOut.ID?
    }

    /// Books what is unclaimed of messages that are still active, at most `limit` deliveries.
    func bookExpired(_ parts: ArraySlice<ExpiredPart>, limit: Int, at time: Timestamp) throws -> Expiry {
        var expiry = Expiry()
        var step = try SettleStep(db: db, worker: WorkerID(rawValue: 0), newest: time)
        for part in parts {
            if try isExpired(part, at: time) {
                let before = expiry.booked
                while expiry.booked < limit {
                    let room = limit - expiry.booked
                    guard let booked = try book(part, room, &step, time) else { break }
                    expiry.booked += booked
                }
                // Its shards may have lost the last page that was given back.
                if expiry.booked > before { try FanOutTable(db: db).reopen(part.message) }
                guard expiry.booked < limit else { break }
                if let shard = try db.number(Self.unclaimed(on: part.platform), [part.message]) {
                    expiry.unclaimed = OpenFanOut.ID(message: part.message, shard: shard)
                    break
                }
            }
            expiry.done += 1
        }
        _ = try step.finish()
        expiry.ends = step.ownEnds
        return expiry
    }

    private func isExpired(_ part: ExpiredPart, at time: Timestamp) throws -> Bool {
        if let platform = part.platform {
            let row = try db.row(Self.isExpiredOnPlatform, [part.message, time.milliseconds, platform.code])
            return row != nil
        }
        return try db.number(Self.isExpired, [part.message, time.milliseconds]) != nil
    }

    /// Books some of a part; a page that was given back has recipients of all platforms, and is claimed again.
    ///
    /// - Returns: `nil`: nothing is left.
    private func book(
        _ part: ExpiredPart, _ limit: Int, _ step: inout SettleStep, _ time: Timestamp
    ) throws -> Int? {
        if part.platform == nil,
            let booked = try bookReleased(part.message, limit, as: .expired, &step, time)
        {
            return booked
        }
        return try bookWaiting(part.message, limit, as: .expired, on: part.platform, &step, time)
    }
}
