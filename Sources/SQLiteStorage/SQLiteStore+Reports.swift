import GRDB
package import PushModel
package import Store

extension SQLiteStore: LedgerStore {
    /// One message's report, read in one snapshot.
    package func report(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> DeliveryReport? {
        try await read { db in
            try MessageTable(db: db).find(id, in: project).map { try ReportReader(db: db).report($0) }
        }
    }

    /// Reports in the order of accept, the newest first.
    package func reports(
        in project: ProjectID, state: MessageState?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport> {
        let before = try cursor.map { text throws(StoreError) in try PageCursor(text: text, of: .messages).last }
        return try await read { db in
            let reader = ReportReader(db: db)
            let rows = try Row.fetchAll(
                db.cachedStatement(sql: state.map(ReportReader.newest) ?? ReportReader.newest),
                arguments: [project.rawValue, before ?? .max, limit + 1])
            let messages = try rows.prefix(limit).map { try MessageRow(row: $0) }
            let next = rows.count > limit ? messages.last.map { PageCursor(.messages, after: $0.seq).text } : nil
            return ResultPage(elements: try messages.map(reader.report), nextCursor: next)
        }
    }

    /// Ended deliveries in the order of recording, then those that wait for an attempt.
    package func deliveries(
        of id: MessageID, in project: ProjectID, outcome: LedgerOutcome?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryRecord> {
        let start = try cursor.map { text throws(StoreError) in
            try PageCursor(text: text, of: .endedDeliveries, .waitingDeliveries, .claimedDeliveries)
        }
        return try await read { db in
            guard let message = try MessageTable(db: db).find(id, in: project) else {
                return ResultPage(elements: [], nextCursor: nil)
            }
            return try DeliveryReader(db: db, message: message, outcome: outcome).page(after: start, limit: limit)
        }
    }

    /// Looks through the project's blocks from the newest back, a bounded number in one call.
    package func deliveries(
        to registration: RegistrationID, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> {
        let before = try cursor.map { text throws(StoreError) in
            try PageCursor(text: text, of: .registrationDeliveries).last
        }
        return try await read { db in
            let key = try db.number(
                RegistrationDeliveryReader.key, [registration.rawValue, project.rawValue])
            guard let key else { return ResultPage(elements: [], nextCursor: nil) }
            return try RegistrationDeliveryReader(db: db, project: project, key: key)
                .page(before: before ?? .max, limit: limit)
        }
    }
}

/// Reads reports within one snapshot.
struct ReportReader {
    let db: Database

    static let newest = """
        SELECT \(MessageRow.columns) \(MessageRow.joins) WHERE m.project = ? AND m.seq < ? ORDER BY m.seq DESC LIMIT ?
        """

    /// The newest messages that are in `state`. Nearly all are complete; for the others there is an index, which SQLite
    /// uses only when the text has its very condition (sqlite.org/partialindex.html).
    static func newest(in state: MessageState) -> String {
        let source = state == .complete ? "" : " INDEXED BY message_open"
        let condition = state == .complete ? "" : " AND m.state <> 'COMPLETE'"
        return """
            SELECT \(MessageRow.columns) \(MessageRow.joins(from: "message m\(source)"))
            WHERE m.project = ? AND m.seq < ?\(condition) AND m.state = '\(state.rawValue)' ORDER BY m.seq DESC LIMIT ?
            """
    }

    static let inPages = "SELECT coalesce(sum(open), 0) FROM page WHERE message = ?"
    /// A range of the clustered key: as many steps as the message has deliveries that wait, whatever others have.
    static let pending = "SELECT count(*) FROM pending WHERE message = ?"

    /// Each figure comes from its own rows: that they balance is a law to be checked, not the way they are made.
    func report(_ row: MessageRow) throws -> DeliveryReport {
        let inFlight =
            (try db.number(Self.inPages, [row.seq]) ?? 0)
            + (try db.number(Self.pending, [row.seq]) ?? 0)
        let tally = try tally(row.seq)
        let (claimed, passedOver) = try fanOut(row.seq)
        return DeliveryReport(
            message: row.summary, state: row.state, completedAt: row.completedAt,
            recipients: row.singles + claimed, passedOver: passedOver, ended: tally.ended, inFlight: Int(inFlight),
            rejectedByReason: tally.rejectedByReason, latency: try latency(row.seq),
            receipts: try ReceiptTable(db: db).sums(of: row.seq))
    }

    static let fanOut = """
        SELECT coalesce(sum(claimed), 0), coalesce(sum(passed_ended), 0), coalesce(sum(passed_quarantined), 0),
            coalesce(sum(passed_stale), 0)
        FROM fan_out WHERE message = ?
        """

    private func fanOut(_ message: Int64) throws -> (claimed: Int, PassedOver) {
        guard let row = try db.row(Self.fanOut, [message]) else { return (0, PassedOver()) }
        return (row[0], PassedOver(ended: row[1], quarantined: row[2], stale: row[3]))
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

/// Reads the deliveries of one message: ended ones in the order of recording, then those that wait for an attempt, then
/// those that are claimed with their page.
struct DeliveryReader {
    let db: Database
    let message: MessageRow
    let outcome: LedgerOutcome?

    static let waiting = """
        SELECT p.registration, p.attempts, p.unknown_attempts, p.last_cause FROM pending p
        WHERE p.message = ? AND p.registration > ? ORDER BY p.registration LIMIT ?
        """

    /// The index says which blocks have deliveries of an outcome. SQLite uses the one of blocks that are not accepted
    /// only when the text has its very condition (sqlite.org/partialindex.html).
    static func ended(_ outcome: LedgerOutcome?) -> String {
        let (index, condition) =
            switch outcome {
            case nil: ("ledger_block_by_message", "")
            case .accepted?: ("ledger_block_by_message", " AND b.outcomes = 1")
            case let outcome?:
                (
                    "ledger_block_not_accepted",
                    " AND b.outcomes <> 1 AND b.outcomes & \(LedgerBlock.bit(of: outcome)) <> 0"
                )
            }
        return """
            SELECT \(StoredBlock.columns) FROM ledger_block b INDEXED BY \(index) \(StoredBlock.joins)
            WHERE b.message = ? AND b.id >= ?\(condition) ORDER BY b.id
            """
    }

    func page(after cursor: PageCursor?, limit: Int) throws -> ResultPage<DeliveryRecord> {
        guard limit > 0 else { return ResultPage(elements: [], nextCursor: nil) }
        var found: [(place: String, record: DeliveryRecord)] = []
        let list = cursor?.list ?? .endedDeliveries
        if list == .endedDeliveries {
            found = try endedRecords(after: cursor, limit: limit + 1)
        }
        if outcome == nil, list != .claimedDeliveries, found.count <= limit {
            let last = list == .waitingDeliveries ? cursor?.last : nil
            found += try waitingRecords(after: last ?? 0, limit: limit + 1 - found.count)
        }
        if outcome == nil, found.count <= limit {
            let place = list == .claimedDeliveries ? cursor : nil
            found += try claimedRecords(after: place, limit: limit + 1 - found.count)
        }
        let next = found.count > limit ? found[limit - 1].place : nil
        return ResultPage(elements: found.prefix(limit).map(\.record), nextCursor: next)
    }

    private func endedRecords(after place: PageCursor?, limit: Int) throws -> [(String, DeliveryRecord)] {
        let reader = LedgerReader(db: db)
        let blocks = try Row.fetchCursor(
            db.cachedStatement(sql: Self.ended(outcome)), arguments: [message.seq, place?.last ?? 0])
        let picks = try reader.picks(from: blocks, after: place, limit: limit, outcome: outcome)
        return try reader.rowsWithReceipts(picks) { PageCursor(.endedDeliveries, after: $0.stored.id, index: $0.index) }
            .map { ($0.cursor, $0.delivery) }
    }

    private func waitingRecords(after key: Int64, limit: Int) throws -> [(String, DeliveryRecord)] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: Self.waiting), arguments: [message.seq, key, limit])
        return try openRecords(
            rows.map { row in
                let key: Int64 = row[0]
                return (PageCursor(.waitingDeliveries, after: key), key, AttemptHistory(row: row, from: 1))
            })
    }

    private func claimedRecords(after place: PageCursor?, limit: Int) throws -> [(String, DeliveryRecord)] {
        var open: [(PageCursor, Int64, AttemptHistory)] = []
        let pages = try Row.fetchCursor(
            db.cachedStatement(sql: OpenPage.ofMessage), arguments: [message.seq, place?.last ?? 0])
        while open.count < limit, let row = try pages.next() {
            let page = try OpenPage(row: row)
            let start = page.id == place?.last ? (place?.index ?? 0) + 1 : 0
            for index in page.keys.indices.dropFirst(start) where !page.settled[index] {
                guard open.count < limit else { break }
                open.append(
                    (PageCursor(.claimedDeliveries, after: page.id, index: index), page.keys[index], page.history))
            }
        }
        return try openRecords(open)
    }

    private func openRecords(
        _ open: [(place: PageCursor, key: Int64, history: AttemptHistory)]
    ) throws -> [(String, DeliveryRecord)] {
        let names = try LedgerReader(db: db).names(of: open.map(\.key))
        let receipts = try ReceiptTable(db: db).times(of: open.map { (message: message.seq, key: $0.key) })
        return zip(zip(open, names), receipts).map { item, receipts in
            let (delivery, name) = item
            let key = RegistrationKey(rawValue: delivery.key)
            let record = DeliveryRecord(
                registration: name.id, app: name.app, outcome: nil, reason: delivery.history.lastCause,
                history: delivery.history, endedAt: nil, latencyMilliseconds: nil,
                apnsID: message.chosenID ?? APNSID(message: message.summary.id, registration: key),
                receipts: receipts)
            return (delivery.place.text, record)
        }
    }
}

/// Reads the deliveries to one registration, those recorded last first.
///
/// No index leads from a registration to its blocks: it would cost more than the ledger. The blocks' key ranges are in
/// an index, and a broadcast has one or two blocks whose range holds the key.
struct RegistrationDeliveryReader {
    let db: Database
    let project: ProjectID
    let key: Int64

    /// The most blocks whose ranges one call looks at.
    static let rangeLimit = 100_000
    /// The most blocks that one call unpacks.
    static let blockLimit = 500

    static let key = "SELECT r.key FROM registration r WHERE r.fid = ? AND \(Registration.projectName) = ?"
    /// The oldest block that one call looks at.
    static let floor = """
        SELECT id FROM ledger_block INDEXED BY ledger_block_by_project
        WHERE project = ? AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ?
        """
    static let blocks = """
        SELECT \(StoredBlock.columns) FROM ledger_block b INDEXED BY ledger_block_by_project \(StoredBlock.joins)
        WHERE b.project = ?1 AND b.id >= ?2 AND b.id < ?3 AND b.first_key <= ?4 AND b.last_key >= ?4
        ORDER BY b.id DESC LIMIT ?5
        """

    func page(before: Int64, limit: Int) throws -> ResultPage<ExportRow> {
        guard limit > 0 else { return ResultPage(elements: [], nextCursor: nil) }
        let floor = try db.number(Self.floor, [project.rawValue, before, Self.rangeLimit - 1]) ?? 0
        let found = try Row.fetchCursor(
            db.cachedStatement(sql: Self.blocks), arguments: [project.rawValue, floor, before, key, Self.blockLimit])
        var picks: [LedgerReader.Pick] = []
        var unpacked = 0
        var last = floor
        while picks.count < limit, let row = try found.next() {
            let stored = try StoredBlock(row: row)
            unpacked += 1
            if let index = stored.block.index(of: key) {
                picks.append(LedgerReader.Pick(stored: stored, index: index))
            }
            if picks.count == limit || unpacked == Self.blockLimit { last = stored.id }
        }
        let rows = try LedgerReader(db: db).rowsWithReceipts(picks) {
            PageCursor(.registrationDeliveries, after: $0.stored.id)
        }
        return ResultPage(
            elements: rows, nextCursor: last > 0 ? PageCursor(.registrationDeliveries, after: last).text : nil)
    }
}
