package import PushModel
package import Store

extension SQLStore {
    /// How the only deliveries of some messages ended; those that have not ended are left out. In one snapshot. For
    /// PostgreSQL.
    package func recordedEnds(of messages: [MessageID]) async throws(StoreError) -> [MessageID: RecordedEnd] {
        try await read { db in try RecordedEndReader(db: db).ends(of: messages) }
    }
}

/// Reads the ends of messages to one registration each.
struct RecordedEndReader {
    let db: any Database

    /// Those of several that have ended, whose ids are given in hexadecimal digits.
    static let ended = """
        SELECT seq, id, block FROM every_message
        WHERE id = ANY (ARRAY(SELECT decode(value, 'hex') FROM texts(?))) AND block IS NOT NULL
        """
    /// The bounds say which days of the ledger are looked at.
    static let blocks = """
        SELECT b.id, b.entries FROM numbers(?1) k CROSS JOIN ledger_block b ON b.id = k.value AND b.id BETWEEN ?2 AND ?3
        """

    func ends(of messages: [MessageID]) throws -> [MessageID: RecordedEnd] {
        var ended: [(seq: Int64, id: MessageID, block: Int64)] = []
        let rows = try db.cursor(Self.ended, [messages.map(\.hexadecimal)])
        while let row = try rows.next() { ended.append((row[0], try MessageID(column: row[1]), row[2])) }
        guard !ended.isEmpty else { return [:] }
        let blocks = try blocks(Set(ended.map(\.block)))
        var ends: [MessageID: RecordedEnd] = [:]
        for (seq, id, number) in ended {
            // It was removed since, by retention.
            guard let block = blocks[number] else { continue }
            guard let index = block.index(ofMessage: seq) else { throw StoreError.invalid("ledger block \(number)") }
            let entry = block.entries[index]
            ends[id] = RecordedEnd(outcome: entry.outcome, reason: block.reason(of: entry))
        }
        return ends
    }

    private func blocks(_ ids: Set<Int64>) throws -> [Int64: LedgerBlock] {
        var blocks: [Int64: LedgerBlock] = [:]
        guard let first = ids.min(), let last = ids.max() else { return blocks }
        let rows = try db.cursor(Self.blocks, [ids.sorted(), first, last])
        while let row = try rows.next() {
            let id: Int64 = row[0]
            do {
                blocks[id] = try LedgerBlock(decoding: row[1])
            } catch {
                throw StoreError.invalid("ledger block \(id)")
            }
        }
        return blocks
    }
}

extension MessageID {
    /// Its bytes as `decode(…, 'hex')` of PostgreSQL reads them.
    var hexadecimal: String { packed.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
