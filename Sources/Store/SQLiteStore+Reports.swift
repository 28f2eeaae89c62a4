import GRDB
public import PushModel

extension SQLiteStore: LedgerStore {
    /// One message's report, read in one snapshot.
    public func report(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> DeliveryReport? {
        try await read { db in
            try MessageTable(db: db).find(id, in: project).map { try ReportReader(db: db).report($0) }
        }
    }

    /// Reports in the order of accept, the newest first.
    public func reports(
        in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport> {
        let before = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .messages).last }
        return try await read { db in
            let reader = ReportReader(db: db)
            let rows = try Row.fetchAll(
                db.cachedStatement(sql: ReportReader.newest),
                arguments: [project.rawValue, before ?? .max, limit + 1])
            let messages = try rows.prefix(limit).map { try MessageRow(row: $0) }
            let next = rows.count > limit ? messages.last.map { PageCursor(.messages, after: $0.seq).text } : nil
            return ResultPage(elements: try messages.map(reader.report), nextCursor: next)
        }
    }

    /// Ended deliveries by registration, then those that wait for an attempt.
    public func deliveries(
        of id: MessageID, in project: ProjectID, outcome: LedgerOutcome?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryRecord> {
        let start = try cursor.map { text throws(StoreError) in
            try PageCursor(text: text, of: .endedDeliveries, .waitingDeliveries)
        }
        return try await read { db in
            guard let message = try MessageTable(db: db).find(id, in: project) else {
                return ResultPage(elements: [], nextCursor: nil)
            }
            return try DeliveryReader(db: db, message: message, outcome: outcome).page(after: start, limit: limit)
        }
    }
}

/// Reads reports within one snapshot.
struct ReportReader {
    let db: Database

    static let newest = """
        SELECT \(MessageRow.columns) \(MessageRow.joins) WHERE m.project = ? AND m.seq < ? ORDER BY m.seq DESC LIMIT ?
        """

    static let inPages = "SELECT coalesce(sum(claimed - settled), 0) FROM page WHERE message = ?"
    /// A range of the clustered key: as many steps as the message has deliveries that wait, whatever others have.
    static let pending = "SELECT count(*) FROM pending WHERE message = ?"

    /// Each figure comes from its own rows: that they balance is a law to be checked, not the way they are made.
    func report(_ row: MessageRow) throws -> DeliveryReport {
        let inFlight =
            (try db.number(Self.inPages, [row.seq]) ?? 0)
            + (try db.number(Self.pending, [row.seq]) ?? 0)
        let tally = try tally(row.seq)
        return DeliveryReport(
            message: row.summary, state: row.state, completedAt: row.completedAt,
            recipients: try recipients(row), ended: tally.ended, inFlight: Int(inFlight),
            rejectedByReason: tally.rejectedByReason, latency: try latency(row.seq))
    }

    private func recipients(_ row: MessageRow) throws -> Int {
        switch row.summary.recipient {
        case .registration: 1
        case .topic:
            Int(try db.number("SELECT coalesce(sum(claimed), 0) FROM fan_out WHERE message = ?", [row.seq]) ?? 0)
        }
    }

    private func tally(
        _ message: Int64
    ) throws -> (ended: [LedgerOutcome: Int], rejectedByReason: [String: Int]) {
        var ended = Dictionary(uniqueKeysWithValues: LedgerOutcome.allCases.map { ($0, 0) })
        var rejected: [String: Int] = [:]
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT outcome, reason, count FROM tally WHERE message = ?"),
            arguments: [message])
        while let row = try rows.next() {
            let outcome = try LedgerOutcome(storedCase: row[0])
            let count: Int = row[2]
            ended[outcome, default: 0] += count
            if outcome == .rejected { rejected[row[1], default: 0] += count }
        }
        return (ended, rejected)
    }

    private func latency(_ message: Int64) throws -> LatencyPercentiles? {
        var counts: [Int: Int] = [:]
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT bucket, count FROM latency WHERE message = ?"), arguments: [message])
        while let row = try rows.next() {
            counts[row[0]] = row[1]
        }
        let histogram = LatencyHistogram(counts: counts)
        guard let p50 = histogram.percentile(50), let p90 = histogram.percentile(90),
            let p99 = histogram.percentile(99)
        else { return nil }
        return LatencyPercentiles(p50: p50, p90: p90, p99: p99)
    }
}

/// Reads the deliveries of one message: ended ones by registration, then those that wait for an attempt.
struct DeliveryReader {
    let db: Database
    let message: MessageRow
    let outcome: LedgerOutcome?

    static let waiting = """
        SELECT p.registration, r.fid, r.app, p.attempts, p.unknown_attempts, p.last_cause
        FROM pending p CROSS JOIN registration r ON r.key = p.registration
        WHERE p.message = ? AND p.registration > ? ORDER BY p.registration LIMIT ?
        """

    /// SQLite uses the index of those not accepted only when the text has its very condition
    /// (sqlite.org/partialindex.html).
    static func ended(_ outcome: LedgerOutcome?) -> String {
        let (index, condition) =
            switch outcome {
            case nil: ("sqlite_autoindex_ledger_1", "")
            case .accepted?: ("sqlite_autoindex_ledger_1", " AND l.outcome = 'accepted'")
            case let outcome?:
                ("ledger_not_accepted", " AND l.outcome <> 'accepted' AND l.outcome = '\(outcome.rawValue)'")
            }
        return """
            SELECT l.registration, \(DeliveryRecord.columns) FROM ledger l INDEXED BY \(index)
            WHERE l.message = ? AND l.registration > ?\(condition) ORDER BY l.registration LIMIT ?
            """
    }

    func page(after cursor: PageCursor?, limit: Int) throws -> ResultPage<DeliveryRecord> {
        var found: [(place: PageCursor, record: DeliveryRecord)] = []
        if cursor?.list != .waitingDeliveries {
            found = try endedRecords(after: cursor?.last ?? 0, limit: limit + 1)
        }
        if outcome == nil, found.count <= limit {
            let last = cursor?.list == .waitingDeliveries ? cursor?.last : nil
            found += try waitingRecords(after: last ?? 0, limit: limit + 1 - found.count)
        }
        let next = found.count > limit && limit > 0 ? found[limit - 1].place.text : nil
        return ResultPage(elements: found.prefix(limit).map(\.record), nextCursor: next)
    }

    private func endedRecords(after key: Int64, limit: Int) throws -> [(PageCursor, DeliveryRecord)] {
        try Row.fetchAll(
            db.cachedStatement(sql: Self.ended(outcome)), arguments: [message.seq, key, limit]
        ).map { (PageCursor(.endedDeliveries, after: $0[0]), try DeliveryRecord(row: $0, from: 1)) }
    }

    private func waitingRecords(after key: Int64, limit: Int) throws -> [(PageCursor, DeliveryRecord)] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: Self.waiting), arguments: [message.seq, key, limit])
        return try rows.map { row in
            let key = RegistrationKey(rawValue: row[0])
            let record = DeliveryRecord(
                registration: try RegistrationID(stored: row[1]), app: try AppID(stored: row[2]), outcome: nil,
                reason: row[5], history: AttemptHistory(row: row, from: 3), endedAt: nil, latencyMilliseconds: nil,
                apnsID: message.chosenID ?? APNSID(message: message.summary.id, registration: key))
            return (PageCursor(.waitingDeliveries, after: key.rawValue), record)
        }
    }
}

extension DeliveryRecord {
    /// The columns that ``init(row:from:)`` reads, of a ledger row named `l`.
    static let columns = """
        l.fid, l.app, l.outcome, l.reason, l.attempts, l.unknown_attempts, l.ended_at, l.latency_ms, l.apns_id
        """

    /// Reads ``columns``, which begin at `start`.
    init(row: Row, from start: Int) throws {
        let reason: String? = row[start + 3]
        self.init(
            registration: try RegistrationID(stored: row[start]), app: try AppID(stored: row[start + 1]),
            outcome: try LedgerOutcome(storedCase: row[start + 2]), reason: reason,
            history: AttemptHistory(attempts: row[start + 4], unknownAttempts: row[start + 5], lastCause: reason),
            endedAt: Timestamp(milliseconds: row[start + 6]), latencyMilliseconds: row[start + 7],
            apnsID: try APNSID(stored: row[start + 8]))
    }
}
