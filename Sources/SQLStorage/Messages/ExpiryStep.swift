package import PushModel
package import Store

extension SQLStore {
    /// Looks at all active messages beside the writer, then books in transactions of a bounded time.
    package func bookExpired(limit: Int, at time: Timestamp) async throws(StoreError) -> Int {
        let expired = try await read { db in
            try db.numbers(ControlStep.expired, [time.milliseconds])
        }
        var rest = expired[...]
        var booked = 0
        var emptied: OpenFanOut.ID?
        while booked < limit, !rest.isEmpty {
            let (messages, room) = (rest.prefix(ControlStep.expiryStep), min(limit - booked, ControlStep.bookingStep))
            let part = try await write(.settlement, rows: room) { db in
                try ControlStep(db: db).bookExpired(messages, limit: room, at: time)
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

extension ControlStep {
    static let expired = """
        SELECT m.seq FROM project p CROSS JOIN message m INDEXED BY message_open
        WHERE m.project = p.name AND m.state = 'ACTIVE' AND m.state <> 'COMPLETE' AND m.expires_at <= ?
        """
    static let isExpired = "SELECT 1 FROM message WHERE seq = ? AND state = 'ACTIVE' AND expires_at <= ?"
    /// Messages that are looked at in one transaction.
    static let expiryStep = 500

    /// What a step of booking came to.
    struct Expiry: Sendable {
        /// Deliveries that were booked.
        var booked = 0
        /// The same for counters.
        var ends = OwnEnds()
        /// Messages, from the first, of which nothing is left to book.
        var done = 0
        /// A shard of the message behind those that has unclaimed recipients.
        var unclaimed: OpenFanOut.ID?
    }

    /// Books what is unclaimed of messages that are still active, at most `limit` deliveries.
    func bookExpired(_ messages: ArraySlice<Int64>, limit: Int, at time: Timestamp) throws -> Expiry {
        var expiry = Expiry()
        var step = try SettleStep(db: db, worker: WorkerID(rawValue: 0), newest: time)
        for message in messages {
            if try db.number(Self.isExpired, [message, time.milliseconds]) != nil {
                let before = expiry.booked
                while expiry.booked < limit {
                    let room = limit - expiry.booked
                    let booked =
                        try bookReleased(message, room, as: .expired, &step, time)
                        ?? bookWaiting(message, room, as: .expired, &step, time)
                    guard let booked else { break }
                    expiry.booked += booked
                }
                // Its shards may have lost the last page that was given back.
                if expiry.booked > before { try FanOutTable(db: db).reopen(message) }
                guard expiry.booked < limit else { break }
                if let shard = try db.number(Self.unclaimed, [message]) {
                    expiry.unclaimed = OpenFanOut.ID(message: message, shard: shard)
                    break
                }
            }
            expiry.done += 1
        }
        _ = try step.finish()
        expiry.ends = step.ownEnds
        return expiry
    }
}
