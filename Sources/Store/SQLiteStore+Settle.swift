import GRDB
import Logging
public import PushModel

extension SQLiteStore: DeliveryStore {
    /// Marks every claim of an earlier run as given back; pages are read again when they are claimed again.
    public func rescue() async throws(StoreError) -> Int {
        let rescued = try await write { db in
            let retries = try db.change(
                """
                UPDATE pending SET claimed = 0, attempts = attempts + 1, unknown_attempts = unknown_attempts + 1,
                    last_cause = ?
                WHERE claimed = 1
                """,
                [TransportCause.interrupted.rawValue])
            try db.change("UPDATE page SET released = 1, interruptions = interruptions + 1 WHERE released = 0", [])
            let open = try db.number("SELECT coalesce(sum(claimed - settled), 0) FROM page") ?? 0
            return retries + Int(open)
        }
        if rescued > 0 { logger.info("Deliveries rescued", metadata: ["store.rescued": "\(rescued)"]) }
        return rescued
    }

    /// Records results in one transaction; what is not claimed is refused and changes nothing.
    public func settle(_ settlements: [Settlement]) async throws(StoreError) -> [MessageID] {
        guard !settlements.isEmpty else { return [] }
        let (completed, refused) = try await write { db in
            var step = try SettleStep(db: db, newest: Self.newestEnd(of: settlements))
            for settlement in settlements { try step.apply(settlement) }
            return (try step.finish(), step.refused)
        }
        if refused > 0 {
            logger.warning("Settlements refused: not claimed", metadata: ["store.refused": "\(refused)"])
        }
        return completed
    }

    private static func newestEnd(of settlements: [Settlement]) -> Timestamp? {
        settlements.compactMap { settlement in
            if case .ended(let entry) = settlement.result { entry.time } else { nil }
        }.max()
    }

    /// Open deliveries by lane, with what running fan-outs have still to claim by the estimate of accept.
    public func backlog() async throws(StoreError) -> [Lane: Int] {
        try await read { db in
            var backlog: [Lane: Int] = [.interactive: 0, .bulk: 0]
            for row in try Row.fetchAll(db, sql: "SELECT lane, count(*) FROM pending GROUP BY lane") {
                backlog[Lane(code: row[0]), default: 0] += row[1]
            }
            let open = try db.number("SELECT coalesce(sum(claimed - settled), 0) FROM page") ?? 0
            let unclaimed = try db.number(
                "SELECT coalesce(sum(max(0, expected - claimed)), 0) FROM fan_out INDEXED BY fan_out_turn WHERE done = 0"
            )
            backlog[.bulk, default: 0] += Int(open + (unclaimed ?? 0))
            return backlog
        }
    }
}

/// One settle transaction: row by row what must be, sums at the end.
///
/// What is not claimed (settled before, of another run, never handed out) changes nothing and is counted as refused.
/// A delivery is open in exactly one place, its page or `pending`; the conditions of the statements keep it so.
struct SettleStep {
    /// A claimed page as it was before this step, and how many of its deliveries this step settles.
    private struct PageProgress {
        let message: Int64
        let keys: ClosedRange<Int64>
        var settled = 0
    }

    /// Settlements that changed nothing.
    private(set) var refused = 0

    private let db: Database
    /// What the rows of this step get as their time of recording.
    private let recordedAt: Timestamp
    private let registrations: RegistrationTable
    private let statements: Statements
    private var messages: [MessageID: Int64] = [:]
    private var pages: [FanOutPage.ID: PageProgress] = [:]
    private var sums = LedgerSums()
    /// Messages that may be complete now, with the time of their last end, in the order of the step.
    private var touched: [(id: MessageID, seq: Int64)] = []
    private var lastEnd: [Int64: Timestamp] = [:]

    /// Begins a step whose newest end came at `newest`; `nil`: nothing ends in it.
    init(db: Database, newest: Timestamp?) throws {
        self.db = db
        let clock = LedgerClock(db: db)
        recordedAt = try newest.map(clock.advance) ?? clock.now()
        registrations = RegistrationTable(db: db)
        statements = try Statements(db: db)
    }

    mutating func apply(_ settlement: Settlement) throws {
        let delivery = settlement.delivery
        guard let message = try message(delivery.message) else {
            refused += 1
            return
        }
        let isApplied: Bool
        if let page = delivery.page {
            isApplied = try applyToPage(page, message, settlement)
        } else {
            isApplied = try applyToPending(message, settlement)
        }
        if !isApplied { refused += 1 }
    }

    /// Writes the sums and moves on pages and messages.
    ///
    /// - Returns: messages that are complete now.
    mutating func finish() throws -> [MessageID] {
        try sums.write(db)
        for (id, page) in pages where page.settled > 0 {
            let count = page.settled
            let isGone = try db.change(
                "DELETE FROM page WHERE id = ?1 AND settled + ?2 = claimed", [id.rawValue, count])
            if isGone == 0 {
                try db.change("UPDATE page SET settled = settled + ?2 WHERE id = ?1", [id.rawValue, count])
            }
        }
        let table = MessageTable(db: db)
        var completed: [MessageID] = []
        for (id, seq) in touched {
            guard let time = lastEnd[seq] else { continue }
            if try table.completeIfDone(seq, at: time) { completed.append(id) }
        }
        return completed
    }

    private mutating func applyToPage(
        _ id: FanOutPage.ID, _ message: Int64, _ settlement: Settlement
    ) throws -> Bool {
        let key = settlement.delivery.registration.key.rawValue
        guard let page = try page(id), page.message == message, page.keys.contains(key) else { return false }
        switch settlement.result {
        case .ended(let entry):
            guard try insert(entry, message, settlement.delivery) else { return false }
            try ended(entry, message, settlement.delivery)
        case .retry(let history, let notBefore):
            try statements.moveToPending.execute(arguments: [
                message, key, Lane.bulk.code, notBefore.milliseconds, history.attempts, history.unknownAttempts,
                history.lastCause, history.probingSince?.milliseconds, history.refusedBy?.rawValue,
            ])
            guard db.changesCount > 0 else { return false }
        }
        pages[id]?.settled += 1
        return true
    }

    private mutating func applyToPending(_ message: Int64, _ settlement: Settlement) throws -> Bool {
        let key = settlement.delivery.registration.key.rawValue
        switch settlement.result {
        case .ended(let entry):
            try statements.takeFromPending.execute(arguments: [message, key])
            guard db.changesCount > 0 else { return false }
            guard try insert(entry, message, settlement.delivery) else {
                throw StoreError.invalid("a delivery that is open and ended")
            }
            try ended(entry, message, settlement.delivery)
        case .retry(let history, let notBefore):
            try statements.putBack.execute(arguments: [
                notBefore.milliseconds, history.attempts, history.unknownAttempts, history.lastCause,
                history.probingSince?.milliseconds, history.refusedBy?.rawValue, message, key,
            ])
            guard db.changesCount > 0 else { return false }
        }
        return true
    }

    /// Appends a ledger row unless the delivery has one or waits in `pending`.
    private func insert(_ entry: LedgerEntry, _ message: Int64, _ delivery: ClaimedDelivery) throws -> Bool {
        try statements.insertLedger.execute(arguments: [
            delivery.project.rawValue, message, delivery.registration.key.rawValue, delivery.registration.id.rawValue,
            delivery.registration.app.rawValue, entry.time.milliseconds, entry.outcome.rawValue, entry.reason,
            entry.history.attempts, entry.history.unknownAttempts, entry.latencyMilliseconds, entry.apnsID.rawValue,
            recordedAt.milliseconds,
        ])
        return db.changesCount > 0
    }

    /// What follows from a new ledger row.
    private mutating func ended(_ entry: LedgerEntry, _ message: Int64, _ delivery: ClaimedDelivery) throws {
        sums.add(
            entry, message: message, project: delivery.project, row: db.lastInsertedRowID, recordedAt: recordedAt)
        if let last = lastEnd[message] {
            lastEnd[message] = max(last, entry.time)
        } else {
            lastEnd[message] = entry.time
            touched.append((delivery.message, message))
        }
        switch entry.verdict {
        case .proven(let environment)?:
            try registrations.prove(delivery.registration, in: environment, at: entry.time)
        case .doubtful?: try registrations.doubt(delivery.registration)
        case .refused(let reason)?:
            try registrations.quarantine(delivery.registration, Quarantine(time: entry.time, reason: reason))
        case .dead(let since)?:
            try registrations.endUnregistered(delivery.registration, deadSince: since, at: entry.time)
        case nil: break
        }
    }

    private mutating func message(_ id: MessageID) throws -> Int64? {
        if let known = messages[id] { return known }
        let seq = try db.number("SELECT seq FROM message WHERE id = ?", [id.rawValue])
        messages[id] = seq
        return seq
    }

    private mutating func page(_ id: FanOutPage.ID) throws -> PageProgress? {
        if let known = pages[id] { return known }
        let row = try db.row(
            "SELECT message, after_key, last_key FROM page WHERE id = ? AND released = 0", [id.rawValue])
        guard let row else { return nil }
        let after: Int64 = row[1]
        let page = PageProgress(message: row[0], keys: after + 1...row[2])
        pages[id] = page
        return page
    }
}

extension SettleStep {
    /// The statements that run for each settlement.
    struct Statements {
        static let insertLedger = """
            INSERT INTO ledger (project, message, registration, fid, app, ended_at, outcome, reason, attempts,
                unknown_attempts, latency_ms, apns_id, recorded_at)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
            WHERE NOT EXISTS (SELECT 1 FROM pending WHERE message = ?2 AND registration = ?3)
            ON CONFLICT (message, registration) DO NOTHING
            """
        static let moveToPending = """
            INSERT INTO pending (message, registration, lane, not_before, attempts, unknown_attempts, last_cause,
                probing_since, refused_by)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
            WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE message = ?1 AND registration = ?2)
            ON CONFLICT (message, registration) DO NOTHING
            """
        static let takeFromPending = "DELETE FROM pending WHERE message = ? AND registration = ? AND claimed = 1"
        static let putBack = """
            UPDATE pending SET claimed = 0, not_before = ?, attempts = ?, unknown_attempts = ?, last_cause = ?,
                probing_since = ?, refused_by = ?
            WHERE message = ? AND registration = ? AND claimed = 1
            """

        let insertLedger: Statement
        let moveToPending: Statement
        let takeFromPending: Statement
        let putBack: Statement

        init(db: Database) throws {
            insertLedger = try db.cachedStatement(sql: Self.insertLedger)
            moveToPending = try db.cachedStatement(sql: Self.moveToPending)
            takeFromPending = try db.cachedStatement(sql: Self.takeFromPending)
            putBack = try db.cachedStatement(sql: Self.putBack)
        }
    }
}

/// The sums that a batch of ledger rows adds to: one statement for each sum instead of one for each row.
struct LedgerSums {
    private struct End: Hashable {
        let message: Int64
        let outcome: LedgerOutcome
        let reason: String
    }
    private struct Bucket: Hashable {
        let message: Int64
        let bucket: Int
    }
    private struct Hour: Hashable {
        let project: ProjectID
        let hour: Int64
    }

    /// The unit of `ledger_hour`.
    static func hour(of time: Timestamp) -> Int64 { time.seconds / 3600 }

    private var ends: [End: Int] = [:]
    private var latencies: [Bucket: Int] = [:]
    private var hours: [Hour: ClosedRange<Int64>] = [:]

    /// Adds a row that was just appended with row id `row`; later rows have greater ids.
    mutating func add(
        _ entry: LedgerEntry, message: Int64, project: ProjectID, row: Int64, recordedAt: Timestamp
    ) {
        ends[End(message: message, outcome: entry.outcome, reason: entry.reason ?? ""), default: 0] += 1
        if entry.outcome == .accepted {
            let bucket = LatencyHistogram.bucket(forMilliseconds: entry.latencyMilliseconds)
            latencies[Bucket(message: message, bucket: bucket), default: 0] += 1
        }
        let hour = Hour(project: project, hour: Self.hour(of: recordedAt))
        hours[hour] = (hours[hour]?.lowerBound ?? row)...row
    }

    func write(_ db: Database) throws {
        for (end, count) in ends {
            try db.change(
                """
                INSERT INTO tally (message, outcome, reason, count) VALUES (?, ?, ?, ?)
                ON CONFLICT (message, outcome, reason) DO UPDATE SET count = count + excluded.count
                """,
                [end.message, end.outcome.rawValue, end.reason, count])
        }
        for (bucket, count) in latencies {
            try db.change(
                """
                INSERT INTO latency (message, bucket, count) VALUES (?, ?, ?)
                ON CONFLICT (message, bucket) DO UPDATE SET count = count + excluded.count
                """,
                [bucket.message, bucket.bucket, count])
        }
        for (hour, rows) in hours {
            try db.change(
                """
                INSERT INTO ledger_hour (project, hour, first_id, last_id) VALUES (?, ?, ?, ?)
                ON CONFLICT (project, hour) DO UPDATE SET first_id = min(first_id, excluded.first_id),
                    last_id = max(last_id, excluded.last_id)
                """,
                [hour.project.rawValue, hour.hour, rows.lowerBound, rows.upperBound])
        }
    }
}
