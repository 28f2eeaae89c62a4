package import PushModel
package import Store

extension SQLStore: ReceiptStore {
    /// Looks for the deliveries beside the writer, then keeps what is new in one transaction: a delivery that was there
    /// once never goes.
    package func keep(
        _ receipts: [Receipt], of registration: RegistrationKey, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [Bool] {
        let found = try await read { db in
            try ReceiptTable(db: db).deliveries(of: receipts, to: registration.rawValue, in: project, at: time)
        }
        let rows = found.compactMap(\.self)
        if !rows.isEmpty {
            try await write(rows: rows.count) { db in
                let recordedAt = try LedgerClock(db: db).advance(to: time)
                let table = ReceiptTable(db: db)
                var new: [EventBody.Receipt] = []
                for row in rows
                where try table.insert(row, of: registration.rawValue, in: project, recordedAt) {
                    new.append(
                        EventBody.Receipt(
                            message: row.message, key: registration.rawValue, kind: row.kind,
                            time: row.time.milliseconds))
                }
                if !new.isEmpty { try EventTable(db: db).add(.receipts(new), of: project, at: time) }
            }
        }
        return found.map { $0 != nil }
    }
}

extension ReceiptKind {
    /// The kind as a column holds it.
    var code: Int {
        switch self {
        case .received: 0
        case .opened: 1
        case .impression: 2
        case .dismissed: 3
        }
    }

    /// The kind that a column holds.
    init(code: Int) throws {
        guard let kind = Self.allCases.first(where: { $0.code == code }) else { throw StoreError.invalid("a receipt") }
        self = kind
    }
}

/// The tables of receipts within one transaction.
struct ReceiptTable {
    /// A receipt of a delivery that exists.
    struct Found {
        let message: Int64
        let kind: ReceiptKind
        let time: Timestamp
    }

    let db: any Database

    static let message = "SELECT seq, accepted_at FROM every_message WHERE id = ? AND project = ?"
    /// Or of a message to that registration alone.
    static let isPending = """
        SELECT 1 FROM message WHERE seq = ?1 AND registration = ?2
        UNION ALL SELECT 1 FROM ended_single WHERE seq = ?1 AND registration = ?2
        UNION ALL SELECT 1 FROM pending WHERE message = ?1 AND registration = ?2
        """
    /// Those that begin near the key come first: in a fan-out it is the first of them, nearly always.
    static let blocks = """
        SELECT b.entries FROM ledger_block b INDEXED BY ledger_block_keys
        WHERE b.message = ?1 AND b.first_key <= ?2 AND b.last_key >= ?2 ORDER BY b.first_key DESC
        """
    /// The same with bounds of ids.
    static let blocksBetween = """
        SELECT b.entries FROM ledger_block b INDEXED BY ledger_block_keys
        WHERE b.message = ?1 AND b.first_key <= ?2 AND b.last_key >= ?2 AND b.id BETWEEN ?3 AND ?4 ORDER BY b.first_key DESC
        """
    static let pages = "SELECT keys FROM page WHERE message = ?"
    static let insertion = """
        INSERT INTO receipt (message, registration, kind, project, time, recorded_at)
        VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
        """
    static let count = """
        INSERT INTO receipt_tally (message, kind, count) VALUES (?, ?, 1)
        ON CONFLICT (message, kind) DO UPDATE SET count = receipt_tally.count + 1
        """
    /// Receipts that a message came in, counted by what `received_day` tells them apart by. Those of a registration that
    /// nothing is known of are in no app.
    ///
    /// The limit keeps SQLite from looking at all messages: it takes a sum over a view apart only when a subquery has the
    /// rows (sqlite.org/optoverview.html#flattening, 19).
    static func days(where condition: String = "") -> String {
        """
        SELECT app, day, label, count(*) FROM (
            SELECT coalesce(r.app, f.app) AS app, m.accepted_at / 86400000 AS day, coalesce(m.label, '') AS label
            FROM receipt e CROSS JOIN every_message m ON m.seq = e.message
            LEFT JOIN registration r ON r.key = e.registration
            LEFT JOIN former_registration f ON f.key = e.registration
            WHERE e.kind = 0 AND coalesce(r.app, f.app) IS NOT NULL\(condition) LIMIT \(Int64.max)) found
        GROUP BY 1, 2, 3
        """
    }
    static let countDay = """
        INSERT INTO received_day (app, day, label, count) \(days(where: " AND e.message = ? AND e.registration = ?"))
        ON CONFLICT (app, day, label) DO UPDATE SET count = received_day.count + 1
        """
    static let sums = "SELECT kind, count FROM receipt_tally WHERE message = ?"
    /// Pairs of message and registration.
    static let ofDeliveries = """
        SELECT k.key, e.kind, e.time FROM pairs(?) k CROSS JOIN receipt e INDEXED BY receipt_of
        ON e.message = k.first AND e.registration = k.second
        """

    /// The rows of receipts, `nil` for one without a delivery. Each message is looked for once.
    func deliveries(
        of receipts: [Receipt], to key: Int64, in project: ProjectID, at now: Timestamp
    ) throws -> [Found?] {
        var known: [MessageID: (seq: Int64, acceptedAt: Timestamp)?] = [:]
        return try receipts.map { receipt in
            let message: (seq: Int64, acceptedAt: Timestamp)?
            if let found = known[receipt.message] {
                message = found
            } else {
                message = try delivered(receipt.message, to: key, in: project)
                known[receipt.message] = .some(message)
            }
            return message.map { message in
                Found(
                    message: message.seq, kind: receipt.kind,
                    time: max(message.acceptedAt, min(receipt.time, now)))
            }
        }
    }

    private func delivered(
        _ id: MessageID, to key: Int64, in project: ProjectID
    ) throws -> (seq: Int64, acceptedAt: Timestamp)? {
        guard let row = try db.row(Self.message, [id.column, project.rawValue]) else { return nil }
        let seq: Int64 = row[0]
        let acceptedAt = Timestamp(milliseconds: row[1])
        guard try isDelivery(seq, to: key, accepted: (project, acceptedAt)) else { return nil }
        return (seq, acceptedAt)
    }

    /// Whether a message went to a registration, or is on its way: a device may be faster than the commit of APNs' answer.
    ///
    /// - Parameter accepted: of which project the message is, and when it was accepted, where that is known.
    func isDelivery(
        _ message: Int64, to key: Int64, accepted: (project: ProjectID, at: Timestamp)? = nil
    ) throws -> Bool {
        if try db.number(Self.isPending, [message, key]) != nil { return true }
        // All days of the ledger are looked at only when that has not found it.
        if let accepted, db.dialect.dividesLedger,
            try isRecordedSoon(message, to: key, accepted.project, accepted.at) || isClaimed(message, to: key)
        {
            return true
        }
        return try contains(key, in: db.cursor(Self.blocks, [message, key])) || isClaimed(message, to: key)
    }

    /// Whether it shows in the blocks of the day after accept that a message went to a registration, as nearly always.
    private func isRecordedSoon(
        _ message: Int64, to key: Int64, _ project: ProjectID, _ acceptedAt: Timestamp
    ) throws -> Bool {
        let hour = LedgerHour.hour(of: acceptedAt)
        guard let ids = try db.row(ExportReader.bounds, [project.rawValue, hour - 1, hour + 24]),
            let first: Int64 = ids[0], let last: Int64 = ids[1]
        else { return false }
        return try contains(key, in: db.cursor(Self.blocksBetween, [message, key, first, last]))
    }

    private func isClaimed(_ message: Int64, to key: Int64) throws -> Bool {
        let pages = try db.cursor(Self.pages, [message])
        while let row = try pages.next() {
            if try PackedKeys.contain(key, in: row[0]) { return true }
        }
        return false
    }

    private func contains(_ key: Int64, in blocks: RowCursor) throws -> Bool {
        while let row = try blocks.next() {
            // Any damage is told as one error.
            guard let block = try? LedgerBlock(decoding: row[0]) else { throw StoreError.invalid("a ledger block") }
            if block.index(of: key) != nil { return true }
        }
        return false
    }

    /// - Returns: whether it was not known before.
    func insert(_ row: Found, of key: Int64, in project: ProjectID, _ recordedAt: Timestamp) throws -> Bool {
        let isNew = try db.change(
            Self.insertion,
            [
                row.message, key, row.kind.code, project.rawValue, row.time.milliseconds, recordedAt.milliseconds,
            ])
        guard isNew > 0 else { return false }
        try db.change(Self.count, [row.message, row.kind.code])
        if row.kind == .received { try db.change(Self.countDay, [row.message, key]) }
        return true
    }

    /// How many receipts of each kind a message has.
    func sums(of message: Int64) throws -> [ReceiptKind: Int] {
        var sums: [ReceiptKind: Int] = [:]
        let rows = try db.cursor(Self.sums, [message])
        while let row = try rows.next() { sums[try ReceiptKind(code: row[0])] = row[1] }
        return sums
    }

    /// The receipts of deliveries, in their order: one query for all.
    func times(of deliveries: [(message: Int64, key: Int64)]) throws -> [[ReceiptKind: Timestamp]] {
        var times = [[ReceiptKind: Timestamp]](repeating: [:], count: deliveries.count)
        guard !deliveries.isEmpty else { return times }
        let pairs = NumberPairs(deliveries.lazy.map { ($0.message, $0.key) })
        let rows = try db.cursor(Self.ofDeliveries, [pairs])
        while let row = try rows.next() {
            times[row[0] as Int][try ReceiptKind(code: row[1])] = Timestamp(milliseconds: row[2])
        }
        return times
    }
}
