import PushModel
import Store

/// The unit of `ledger_hour`.
enum LedgerHour {
    /// The hour of a time of recording, since 1970.
    static func hour(of time: Timestamp) -> Int64 { time.seconds / 3600 }
}

/// The blocks within one transaction.
struct LedgerBlockTable {
    let db: any Database
    /// Gives a number that is known before, greater than that of any block; `nil`: the database gives one.
    var number: () throws -> Int64? = { nil }

    private static let columns = "message, project, recorded_at, first_key, last_key, rows, outcomes, entries"
    static let insert = "INSERT INTO ledger_block (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    static let insertNumbered = "INSERT INTO ledger_block (id, \(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

    static let rewrite = "UPDATE ledger_block SET rows = ?, outcomes = ?, entries = ? WHERE id = ?"
    static let remove = "DELETE FROM ledger_block WHERE id = ?"
    static let countDown = "UPDATE ledger_block SET rows = rows - ?2 WHERE id = ?1 AND rows > ?2"

    /// Appends a block of several messages to one registration each, and gives its id.
    ///
    /// - Parameter block: at least one entry, in the order of their messages.
    func insert(_ block: LedgerBlock, _ project: ProjectID, _ recordedAt: Timestamp) throws -> Int64 {
        let (outcomes, bytes) = try Self.pack(block)
        return try insert([
            nil, project.rawValue, recordedAt.milliseconds, nil, nil, block.entries.count, outcomes, bytes,
        ])
    }

    private func insert(_ columns: SQLArguments) throws -> Int64 {
        guard let id = try number() else { return try db.insert(Self.insert, columns, key: "id") }
        try db.post(Self.insertNumbered, [id] + columns)
        return id
    }

    private static func pack(_ block: LedgerBlock) throws -> (outcomes: Int64, bytes: [UInt8]) {
        (
            block.entries.reduce(0) { $0 | LedgerBlock.bit(of: $1.outcome) },
            try LedgerBlock.encode(
                block.entries[...], reasons: block.reasons, ids: block.ids, messages: block.messages[...])
        )
    }

    /// Takes the entries of some messages out of a block of several; it goes with the last one, also when it is damaged.
    func remove(_ messages: Set<Int64>, from id: Int64) throws {
        let data = try db.bytes("SELECT entries FROM ledger_block WHERE id = ?", [id])
        guard let data else { return }
        // Of what can't be read entries can only be counted. It stays for those that live, so that its damage is told.
        guard let block = try? LedgerBlock(decoding: data) else {
            if try db.change(Self.countDown, [id, messages.count]) == 0 { try remove(id) }
            return
        }
        let left = block.messages.indices.filter { !messages.contains(block.messages[$0]) }
        guard !left.isEmpty else { return try remove(id) }
        let rest = LedgerBlock(
            entries: left.map { block.entries[$0] }, reasons: block.reasons, ids: block.ids,
            messages: left.map { block.messages[$0] })
        let (outcomes, bytes) = try Self.pack(rest)
        try db.change(Self.rewrite, [left.count, outcomes, bytes, id])
    }

    private func remove(_ id: Int64) throws {
        try db.change(Self.remove, [id])
    }

    /// Appends a block and gives its id: greater than that of any block before.
    ///
    /// - Parameter entries: at least one, in the order of their keys.
    func insert(
        _ entries: ArraySlice<LedgerBlock.Entry>, _ reasons: [String], _ ids: [String], message: Int64,
        _ project: ProjectID, _ recordedAt: Timestamp
    ) throws -> Int64 {
        let bytes = try LedgerBlock.encode(entries, reasons: reasons, ids: ids)
        var outcomes: Int64 = 0
        for entry in entries { outcomes |= LedgerBlock.bit(of: entry.outcome) }
        return try insert([
            message, project.rawValue, recordedAt.milliseconds, entries.first?.key, entries.last?.key,
            entries.count, outcomes, bytes,
        ])
    }

    /// Notes that blocks of a project were recorded in an hour.
    func extend(hour: Int64, _ project: ProjectID, _ blocks: ClosedRange<Int64>) throws {
        try db.post(
            """
            INSERT INTO ledger_hour (project, hour, first_id, last_id) VALUES (?, ?, ?, ?)
            ON CONFLICT (project, hour) DO UPDATE SET first_id = least(ledger_hour.first_id, excluded.first_id),
                last_id = greatest(ledger_hour.last_id, excluded.last_id)
            """,
            [project.rawValue, hour, blocks.lowerBound, blocks.upperBound])
    }
}
