import GRDB
import PushModel
import Store

/// Which registrations changed since a snapshot, so that a claim hands out what is true at its commit.
struct RegistrationChanges {
    let db: Database

    static let newest = "SELECT max(number) FROM registration_change"
    static let after = "SELECT registration FROM registration_change WHERE number > ?"
    /// With more changes than this a page is read again as a whole: it has no more recipients.
    private static let limit: Int64 = 1000

    /// What may have changed.
    enum Changed {
        case these(Set<Int64>)
        case any

        func contains(_ key: RegistrationKey) -> Bool {
            switch self {
            case .these(let keys): keys.contains(key.rawValue)
            case .any: true
            }
        }
    }

    /// The number of the newest change.
    func number() throws -> Int64 {
        try db.number(Self.newest) ?? 0
    }

    /// What changed after change `number`; `nil`: nothing, which costs one look.
    func after(_ number: Int64) throws -> Changed? {
        let newest = try self.number()
        guard newest != number else { return nil }
        guard newest > number, newest - number <= Self.limit else { return .any }
        return .these(try Int64.fetchSet(db.cachedStatement(sql: Self.after), arguments: [number]))
    }
}

/// Device tokens that went from one registration to another while fan-outs ran.
struct TokenMoves {
    let db: Database

    static let into = "SELECT registration, former FROM token_move WHERE registration BETWEEN ? AND ?"
    static let of = "SELECT former FROM token_move WHERE registration = ?"
    /// So many moves of one device token are followed back.
    private static let depth = 8

    /// Recipients of a message whose device got it, or is getting it, under a registration that had the device token
    /// before.
    ///
    /// - Parameter keys: in ascending order.
    func repeats(of message: Int64, among keys: [Int64]) throws -> Set<Int64> {
        guard let first = keys.first, let last = keys.last else { return [] }
        let moves = try Row.fetchAll(db.cachedStatement(sql: Self.into), arguments: [first, last])
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
        for former in try Int64.fetchAll(db.cachedStatement(sql: Self.of), arguments: [key]) {
            if try isDelivered(message, to: former, depth: depth - 1) { return true }
        }
        return false
    }
}
