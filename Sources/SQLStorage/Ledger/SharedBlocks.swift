import PushModel
import Store

/// Checks the ledger blocks that messages to one registration share, within one snapshot.
struct SharedBlocks {
    let db: any Database

    /// Blocks that one snapshot looks at.
    private static let step = 500
    static let blocks = """
        SELECT id, project, rows, outcomes, entries FROM ledger_block INDEXED BY ledger_block_by_message
        WHERE message IS NULL AND id > ? ORDER BY id LIMIT \(step)
        """
    /// A row for each of some entries, pairs of message and registration, that is of a message that names the block.
    static let named = """
        SELECT m.seq FROM pairs(?1) k CROSS JOIN every_message m ON m.seq = k.first
        WHERE m.registration = k.second AND m.block = ?2 AND +m.project = ?3
        """

    /// Checks some blocks.
    ///
    /// - Returns: what does not hold, and where to go on; `nil`: these were the last ones.
    func check(after id: Int64) throws -> (findings: CheckFindings, next: Int64?) {
        var findings = CheckFindings()
        let rows = try db.rows(Self.blocks, [id])
        for row in rows {
            let place = "block \(row[0] as Int64)"
            // Any damage is one finding.
            guard let block = try? LedgerBlock(decoding: row[4]), block.messages.count == block.entries.count else {
                findings.add("damaged ledger blocks", at: place)
                continue
            }
            let outcomes = block.entries.reduce(Int64(0)) { $0 | LedgerBlock.bit(of: $1.outcome) }
            if block.entries.count != row[2] || outcomes != row[3] {
                findings.add("ledger blocks that are not as their columns say", at: place)
            }
            if try named(block, id: row[0], project: row[1]) != block.entries.count {
                findings.add("ledger entries of messages that do not name their block", at: place)
            }
        }
        return (findings, rows.count == Self.step ? rows.last?[0] : nil)
    }

    private func named(_ block: LedgerBlock, id: Int64, project: String) throws -> Int {
        let pairs = NumberPairs(zip(block.messages, block.entries).lazy.map { ($0, $1.key) })
        let rows = try db.cursor(Self.named, [pairs, id, project])
        var count = 0
        while try rows.next() != nil { count += 1 }
        return count
    }
}
