import PushModel
import Store

/// Device tokens that went from one registration to another while fan-outs ran.
struct TokenMoves {
    let db: any Database

    static let into = "SELECT registration, former FROM address_move WHERE registration BETWEEN ? AND ?"
    static let of = "SELECT former FROM address_move WHERE registration = ?"
    /// So many moves of one device token are followed back.
    private static let depth = 8

    /// Recipients of a message whose device got it, or is getting it, under a registration that had the device token
    /// before.
    ///
    /// - Parameter keys: in ascending order.
    func repeats(of message: Int64, among keys: [Int64]) throws -> Set<Int64> {
        guard let first = keys.first, let last = keys.last else { return [] }
        let moves = try db.rows(Self.into, [first, last])
        guard !moves.isEmpty else { return [] }
        let asked = Set(keys)
        var repeats: Set<Int64> = []
        for move in moves where asked.contains(move[0]) {
            if try isDelivered(message, to: move[1], depth: Self.depth) { repeats.insert(move[0]) }
        }
        return repeats
    }

    private func isDelivered(_ message: Int64, to key: Int64, depth: Int) throws -> Bool {
        if try ReceiptTable(db: db).isDelivery(message, to: key) { return true }
        guard depth > 1 else { return false }
        for former in try db.numbers(Self.of, [key]) {
            if try isDelivered(message, to: former, depth: depth - 1) { return true }
        }
        return false
    }
}
