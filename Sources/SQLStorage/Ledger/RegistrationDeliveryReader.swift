import PushModel
import Store

/// Reads the deliveries to one registration, those recorded last first.
///
/// No index leads from a registration to its blocks: it would cost more than the ledger. The blocks' key ranges are in
/// an index, and a broadcast has one or two blocks whose range holds the key.
struct RegistrationDeliveryReader {
    let db: any Database
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

    /// Messages to this registration alone: an index leads to their blocks.
    static let singles = """
        SELECT seq, block FROM every_message
        WHERE registration = ?1 AND block IS NOT NULL AND block BETWEEN ?2 AND ?3 ORDER BY block DESC, seq DESC LIMIT ?4
        """

    /// Deliveries of fan-outs and those of messages to this registration, in one order: blocks from the newest back, in a
    /// block the last entry first.
    func page(after place: PageCursor?, limit: Int) throws -> ResultPage<ExportRow> {
        guard limit > 0 else { return ResultPage(elements: [], nextCursor: nil) }
        let fanOuts = try fanOuts(before: place?.last ?? .max, limit: limit)
        let singles = try singles(after: place, from: fanOuts.last, limit: limit)
        let found = (fanOuts.picks + singles).sorted { ($0.stored.id, $0.index) > ($1.stored.id, $1.index) }
        let rows = try LedgerReader(db: db).rowsWithReceipts(Array(found.prefix(limit)), cursor: Self.cursor)
        let next = found.count >= limit ? found.prefix(limit).last.map(Self.cursor) : nil
        let rest = fanOuts.last > 0 ? PageCursor(.registrationDeliveries, after: fanOuts.last) : nil
        return ResultPage(elements: rows, nextCursor: (next ?? rest)?.text)
    }

    /// Of a fan-out's block there is one entry, so that nothing of it is left behind index 0.
    private static func cursor(_ pick: LedgerReader.Pick) -> PageCursor {
        PageCursor(
            .registrationDeliveries, after: pick.stored.id, index: pick.stored.message == nil ? pick.index : 0)
    }

    /// Deliveries of fan-outs, and the last block that was looked at; 0: all were.
    private func fanOuts(before: Int64, limit: Int) throws -> (picks: [LedgerReader.Pick], last: Int64) {
        let floor = try db.number(Self.floor, [project.rawValue, before, Self.rangeLimit - 1]) ?? 0
        let found = try db.cursor(Self.blocks, [project.rawValue, floor, before, key, Self.blockLimit])
        let reader = LedgerReader(db: db)
        var picks: [LedgerReader.Pick] = []
        var unpacked = 0
        var last = floor
        while picks.count < limit, let row = try found.next() {
            let stored = try StoredBlock(row: row)
            unpacked += 1
            if let index = stored.block.index(of: key) { picks += try reader.picks([index], of: stored) }
            if picks.count == limit || unpacked == Self.blockLimit { last = stored.id }
        }
        return (picks, last)
    }

    private func singles(after place: PageCursor?, from first: Int64, limit: Int) throws -> [LedgerReader.Pick] {
        let reader = LedgerReader(db: db)
        // Those of the block where the page before ended come again: as many as it has at most.
        let rows = try db.rows(Self.singles, [key, first, place?.last ?? .max, limit + SingleEntries.blockLimit])
        var stored: StoredBlock?
        var picks: [LedgerReader.Pick] = []
        for row in rows where picks.count < limit {
            let (message, id): (Int64, Int64) = (row[0], row[1])
            if stored?.id != id { stored = try db.row(StoredBlock.byID, [id]).map { try StoredBlock(row: $0) } }
            guard let block = stored, let index = block.block.index(ofMessage: message) else {
                throw StoreError.invalid("ledger block \(id)")
            }
            guard id != place?.last || index < (place?.index ?? 0) else { continue }
            picks += try reader.picks([index], of: block)
        }
        return picks
    }
}
