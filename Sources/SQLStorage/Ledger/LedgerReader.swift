import PushModel
import Store

/// A block of the ledger as it is stored, with what lists show of its message.
struct StoredBlock {
    let id: Int64
    let block: LedgerBlock
    /// `nil`: each entry has its own.
    let message: LedgerMessage?

    /// The columns that ``init(row:)`` reads, of a block named `b`, with what they come from beside it.
    static let columns = "b.id, b.entries, \(LedgerMessage.columns)"
    static let joins = "LEFT JOIN message m ON m.seq = b.message LEFT JOIN topic t ON t.id = m.topic"
    static let byID = "SELECT \(columns) FROM ledger_block b \(joins) WHERE b.id = ?"

    /// Reads ``columns``, which come first.
    ///
    /// - Throws: `.failed`, which names the block, when it is damaged.
    init(row: Row) throws {
        id = row[0]
        message = row.isNull(2) ? nil : try LedgerMessage(row: row, from: 2)
        do {
            block = try LedgerBlock(decoding: row[1])
        } catch {
            throw StoreError.invalid("ledger block \(id)")
        }
    }
}

/// What lists of ledger entries show of a message.
struct LedgerMessage {
    let seq: Int64
    let id: MessageID
    let topic: Topic?
    /// The `apns-id` that the sender gave, which only a single send may.
    let chosenID: PushID?
    /// Whether it went to one registration only.
    let isSingle: Bool
    let facts: MessageFacts

    /// The columns that ``init(row:from:)`` reads, of a message named `m` and its topic `t`.
    static let columns = "m.seq, m.id, t.name, m.apns_id, m.registration IS NOT NULL, \(MessageFacts.columns)"

    init(row: Row, from start: Int) throws {
        seq = row[start]
        id = try MessageID(column: row[start + 1])
        topic = try (row[start + 2] as String?).map { try Topic(stored: $0) }
        chosenID = try (row[start + 3] as String?).map { try PushID(stored: $0) }
        isSingle = row[start + 4]
        facts = try MessageFacts(row: row, from: start + 5)
    }
}

/// Reads entries in the order of recording: block by block, in each by registration key.
struct LedgerReader {
    let db: any Database

    /// One entry that a list shows.
    struct Pick {
        let stored: StoredBlock
        let index: Int
        let message: LedgerMessage

        var entry: LedgerBlock.Entry { stored.block.entries[index] }
    }

    /// Messages by their numbers.
    static let messages = """
        SELECT \(LedgerMessage.columns) FROM numbers(?) k CROSS JOIN every_message m ON m.seq = k.value
        LEFT JOIN topic t ON t.id = m.topic
        """

    /// The places of keys, with the FID and app of each: also of registrations that were purged.
    static let names = """
        SELECT k.key, coalesce(r.fid, f.fid), a.name, a.platform FROM numbers(?) k
        LEFT JOIN registration r ON r.key = k.value
        LEFT JOIN former_registration f ON f.key = k.value AND r.key IS NULL
        LEFT JOIN app a ON a.id = coalesce(r.app, f.app)
        """

    /// Picks up to `limit` entries from blocks.
    ///
    /// - Parameters:
    ///   - first: the first block that may have some: the one that `place` is in.
    ///   - place: the last entry that was picked before.
    ///   - outcome: which entries count; `nil`: all.
    ///   - read: ``StoredBlock/columns`` of blocks from an id on, in the order of their ids, so many at most.
    func picks(
        from first: Int64, after place: PageCursor?, limit: Int, outcome: LedgerOutcome? = nil,
        _ read: (_ first: Int64, _ count: Int) throws -> RowCursor
    ) throws -> [Pick] {
        var picks: [Pick] = []
        // A block has thousands of entries or one: what one statement reads grows with what is missing.
        var (next, count) = (first, 2)
        while picks.count < limit {
            let rows = try read(next, count)
            var seen = 0
            while picks.count < limit, let row = try rows.next() {
                let stored = try StoredBlock(row: row)
                let entries = stored.block.entries
                let first = stored.id == place?.last ? (place?.index ?? 0) + 1 : 0
                let wanted = entries.indices.dropFirst(first).lazy
                    .filter { outcome == nil || entries[$0].outcome == outcome }.prefix(limit - picks.count)
                picks += try self.picks(Array(wanted), of: stored)
                (next, seen) = (stored.id + 1, seen + 1)
            }
            guard seen == count else { break }
            count = min(Self.blockLimit, 4 * count)
        }
        return picks
    }

    /// Blocks that one statement reads.
    private static let blockLimit = 128

    /// Picks some entries of a block, with the message of each.
    func picks(_ indices: [Int], of stored: StoredBlock) throws -> [Pick] {
        if let message = stored.message {
            return indices.map { Pick(stored: stored, index: $0, message: message) }
        }
        let rows = try db.cursor(Self.messages, [indices.map { stored.block.messages[$0] }])
        var messages: [Int64: LedgerMessage] = [:]
        while let row = try rows.next() { messages[row[0]] = try LedgerMessage(row: row, from: 0) }
        return try indices.map { index in
            guard let message = messages[stored.block.messages[index]] else {
                throw StoreError.invalid("ledger block \(stored.id)")
            }
            return Pick(stored: stored, index: index, message: message)
        }
    }

    /// Picked entries as lists show them: one query for the registrations of all.
    func rows(_ picks: [Pick], cursor: (Pick) -> PageCursor) throws -> [ExportRow] {
        let names = try names(of: picks.map(\.entry.key))
        let differences = try MessagePlatformTable(db: db).differences(of: picks.map(\.message))
        return zip(picks, names).map { pick, name in
            let message = pick.message
            return ExportRow(
                delivery: Self.record(pick, name.id, name.app), message: message.id, topic: message.topic,
                facts: differences.facts(of: message, on: name.app.platform),
                bulkID: message.isSingle ? nil : message.seq, cursor: cursor(pick).text)
        }
    }

    /// The same with what devices reported: one more query.
    func rowsWithReceipts(_ picks: [Pick], cursor: (Pick) -> PageCursor) throws -> [ExportRow] {
        var rows = try rows(picks, cursor: cursor)
        let times = try ReceiptTable(db: db).times(
            of: picks.map { (message: $0.message.seq, key: $0.entry.key) })
        for (index, receipts) in times.enumerated() { rows[index].delivery.receipts = receipts }
        return rows
    }

    /// FID and app of registrations, in the order of `keys`.
    func names(of keys: [Int64]) throws -> [(id: RegistrationID, app: AppKey)] {
        try knownNames(of: keys).map { name in
            guard let name else { throw StoreError.invalid("a delivery to a registration") }
            return name
        }
    }

    /// The same; `nil`: retention took what was known of the registration.
    func knownNames(of keys: [Int64]) throws -> [(id: RegistrationID, app: AppKey)?] {
        var names = [(id: RegistrationID, app: AppKey)?](repeating: nil, count: keys.count)
        let rows = try db.cursor(Self.names, [keys])
        while let row = try rows.next() {
            guard let fid: String = row[1], let app: String = row[2] else { continue }
            names[row[0]] = (
                try RegistrationID(stored: fid), AppKey(try Platform(stored: row[3]), try AppID(stored: app))
            )
        }
        return names
    }

    /// Picked entries as events show them: one query for the registrations of all.
    func events(_ picks: [Pick]) throws -> [DeliveryEvent] {
        let names = try names(of: picks.map(\.entry.key))
        return zip(picks, names).map { pick, name in
            let message = pick.message
            return DeliveryEvent(
                message: message.id, topic: message.topic, label: message.facts.label,
                delivery: Self.record(pick, name.id, name.app))
        }
    }

    private static func record(_ pick: Pick, _ id: RegistrationID, _ app: AppKey) -> DeliveryRecord {
        let entry = pick.entry
        let message = pick.message
        let reason = pick.stored.block.reason(of: entry)
        return DeliveryRecord(
            registration: id, app: app, outcome: entry.outcome, reason: reason,
            history: AttemptHistory(
                attempts: Int(entry.attempts), unknownAttempts: Int(entry.unknownAttempts), lastCause: reason),
            endedAt: Timestamp(milliseconds: entry.endedAt), latencyMilliseconds: entry.latencyMilliseconds,
            pushID: message.chosenID
                ?? PushID(message: message.id, registration: RegistrationKey(rawValue: entry.key)),
            upstreamID: pick.stored.block.upstreamID(of: entry))
    }
}
