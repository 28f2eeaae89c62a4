import GRDB
import PushModel
import Store

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
