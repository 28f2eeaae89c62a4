import PushModel
import Store

/// Reads the deliveries of one message: ended ones in the order of recording, then those that wait for an attempt, then
/// those that are claimed with their page.
struct DeliveryReader {
    let db: any Database
    let message: MessageRow
    let outcome: LedgerOutcome?

    static let waiting = """
        SELECT p.registration, p.attempts, p.unknown_attempts, p.last_cause FROM pending p
        WHERE p.message = ? AND p.registration > ? ORDER BY p.registration LIMIT ?
        """

    /// The only delivery of a message that names it as claimed.
    static let claimed = """
        SELECT registration, 0, 0, NULL FROM message WHERE seq = ? AND worker IS NOT NULL AND registration > ? LIMIT ?
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
            WHERE b.message = ? AND b.id >= ?\(condition) ORDER BY b.id LIMIT ?
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
        if case .registration = message.summary.recipient { return place == nil ? try endedSingle() : [] }
        let reader = LedgerReader(db: db)
        let picks = try reader.picks(from: place?.last ?? 0, after: place, limit: limit, outcome: outcome) {
            try db.cursor(Self.ended(outcome), [message.seq, $0, $1])
        }
        return try reader.rowsWithReceipts(picks) { PageCursor(.endedDeliveries, after: $0.stored.id, index: $0.index) }
            .map { ($0.cursor, $0.delivery) }
    }

    /// The end of the only delivery of a message to one registration.
    private func endedSingle() throws -> [(String, DeliveryRecord)] {
        guard let id = try db.number(MessageTable.block, [message.seq]), let row = try db.row(StoredBlock.byID, [id])
        else { return [] }
        let stored = try StoredBlock(row: row)
        guard let index = stored.block.index(ofMessage: message.seq),
            outcome == nil || stored.block.entries[index].outcome == outcome
        else { return [] }
        let reader = LedgerReader(db: db)
        return try reader.rowsWithReceipts(try reader.picks([index], of: stored)) {
            PageCursor(.endedDeliveries, after: $0.stored.id, index: $0.index)
        }.map { ($0.cursor, $0.delivery) }
    }

    private func waitingRecords(after key: Int64, limit: Int) throws -> [(String, DeliveryRecord)] {
        let rows = try [Self.waiting, Self.claimed].flatMap { sql in
            try db.rows(sql, [message.seq, key, limit])
        }
        return try openRecords(
            rows.map { row in
                let key: Int64 = row[0]
                return (PageCursor(.waitingDeliveries, after: key), key, AttemptHistory(row: row, from: 1))
            })
    }

    private func claimedRecords(after place: PageCursor?, limit: Int) throws -> [(String, DeliveryRecord)] {
        var open: [(PageCursor, Int64, AttemptHistory)] = []
        let pages = try db.cursor(OpenPage.ofMessage, [message.seq, place?.last ?? 0])
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
                pushID: message.chosenID ?? PushID(message: message.summary.id, registration: key),
                receipts: receipts)
            return (delivery.place.text, record)
        }
    }
}
