import PushModel
import Store

/// Attempts and dead letters of webhooks within one transaction.
struct WebhookAttemptTable {
    let db: any Database

    /// The most attempts of an endpoint that are kept.
    static let limit = 100_000

    static let insertion = """
        INSERT INTO webhook_attempt
            (webhook, delivery, type, first, last, events, time, latency, status, failure, detail, answer)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let newest = """
        SELECT id, delivery, type, first, last, events, time, latency, status, failure, detail, answer
        FROM webhook_attempt INDEXED BY webhook_attempt_of WHERE webhook = ? AND id < ? ORDER BY id DESC LIMIT ?
        """
    static let forget = """
        DELETE FROM webhook_attempt WHERE id IN (
            SELECT id FROM webhook_attempt INDEXED BY webhook_attempt_time WHERE time < ? ORDER BY time LIMIT ?)
        """
    /// The attempt before the newest ones that are kept.
    static let surplus = """
        SELECT id FROM webhook_attempt INDEXED BY webhook_attempt_of WHERE webhook = ? ORDER BY id DESC LIMIT 1 OFFSET ?
        """
    static let forgetOf = """
        DELETE FROM webhook_attempt WHERE id IN (
            SELECT id FROM webhook_attempt INDEXED BY webhook_attempt_of WHERE webhook = ? AND id <= ? ORDER BY id LIMIT ?)
        """
    /// One endpoint that attempts are kept of, after another.
    static let nextOwner = """
        SELECT webhook FROM webhook_attempt INDEXED BY webhook_attempt_of WHERE webhook > ? ORDER BY webhook LIMIT 1
        """
    static let isThere = "SELECT 1 FROM webhook WHERE key = ?"

    private static let letterColumns = "event, delivery, type, time, failure, body"
    static let insertLetter = """
        INSERT INTO webhook_dead_letter (webhook, event, delivery, type, time, failure, body)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (webhook, event) DO UPDATE SET delivery = excluded.delivery, type = excluded.type,
            time = excluded.time, failure = excluded.failure, body = excluded.body
        """
    static let revive = "DELETE FROM webhook_dead_letter WHERE webhook = ? AND event = ?"
    static let letters = """
        SELECT \(letterColumns) FROM webhook_dead_letter WHERE webhook = ? AND event > ? AND event <= ?
        ORDER BY event LIMIT ?
        """
    static let letterCount = """
        SELECT count(*) FROM webhook_dead_letter WHERE webhook = ? AND event > ? AND event <= ?
        """
    static let forgetLetters = """
        DELETE FROM webhook_dead_letter WHERE (webhook, event) IN (
            SELECT webhook, event FROM webhook_dead_letter INDEXED BY webhook_dead_letter_time
            WHERE time < ? ORDER BY time LIMIT ?)
        """

    func add(_ attempt: WebhookAttempt, of key: Int64) throws {
        try db.change(
            Self.insertion,
            [
                key, attempt.delivery, attempt.type, attempt.first.rawValue, attempt.last.rawValue, attempt.events,
                attempt.time.milliseconds, attempt.latency.wholeMilliseconds, attempt.status, attempt.failure,
                attempt.detail, attempt.answer,
            ])
    }

    func add(_ letter: WebhookDeadLetter, of key: Int64) throws {
        try db.change(
            Self.insertLetter,
            [
                key, letter.event.rawValue, letter.delivery, letter.type, letter.time.milliseconds, letter.failure,
                letter.body,
            ])
    }

    func attempts(of key: Int64, before: Int64, limit: Int) throws -> ResultPage<WebhookAttempt> {
        let rows = try db.rows(Self.newest, [key, before, limit + 1])
        let page = rows.prefix(limit)
        let next = rows.count > limit ? page.last.map { PageCursor(.webhookAttempts, after: $0[0]).text } : nil
        return ResultPage(elements: page.map(WebhookAttempt.init(row:)), nextCursor: next)
    }

    func letters(of key: Int64, after event: Int64, upTo last: Int64, limit: Int) throws -> [WebhookDeadLetter] {
        try db.rows(Self.letters, [key, event, last, limit])
            .map(WebhookDeadLetter.init(row:))
    }

    /// Removes old attempts first, then what is too much of an endpoint, and those of endpoints that are gone.
    func forget(before time: Timestamp, limit: Int) throws -> Int {
        var count = try db.change(Self.forget, [time.milliseconds, limit])
        var owner: Int64 = 0
        while count < limit, let next = try db.number(Self.nextOwner, [owner]) {
            owner = next
            let isThere = try db.number(Self.isThere, [owner]) != nil
            let last = isThere ? try db.number(Self.surplus, [owner, Self.limit]) : .max
            if let last { count += try db.change(Self.forgetOf, [owner, last, limit - count]) }
        }
        return count
    }
}

extension WebhookAttempt {
    fileprivate init(row: Row) {
        self.init(
            delivery: row[1], type: row[2], first: EventNumber(rawValue: row[3]), last: EventNumber(rawValue: row[4]),
            events: row[5], time: Timestamp(milliseconds: row[6]), latency: .milliseconds(row[7] as Int64),
            status: row[8], failure: row[9], detail: row[10], answer: row[11])
    }
}

extension WebhookDeadLetter {
    fileprivate init(row: Row) {
        self.init(
            delivery: row[1], type: row[2], event: EventNumber(rawValue: row[0]), time: Timestamp(milliseconds: row[3]),
            failure: row[4], body: row[5] as [UInt8])
    }
}
