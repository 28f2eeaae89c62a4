import PushModel
import Store

/// Which registrations changed since a snapshot, so that a claim hands out what is true at its commit.
struct RegistrationChanges {
    let db: any Database

    static let newest = "SELECT max(number) FROM registration_change"
    /// The numbers of the newest change and of the newest event.
    static let newestOfAll = "SELECT (\(newest)), (\(EventTable.newest))"
    static let after = "SELECT registration FROM registration_change WHERE number > ? LIMIT \(limit)"
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
        return .these(try Set(db.numbers(Self.after, [number])))
    }

    /// Asks for what changed after change `number`, and for the numbers of the newest change and event.
    func ask(after number: Int64) throws -> Question {
        Question(since: number, newest: try db.ask(Self.newestOfAll), changed: try db.ask(Self.after, [number]))
    }

    /// A question whose answer is read later in the transaction.
    struct Question {
        fileprivate let since: Int64
        fileprivate let newest: RowCursor
        fileprivate let changed: RowCursor

        /// What changed, `nil` for nothing, and the numbers of the newest change and event.
        func read() throws -> (changed: Changed?, number: Int64, event: Int64) {
            let row = try newest.next()
            let (number, event): (Int64, Int64) = (row.flatMap { $0[0] } ?? 0, row.flatMap { $0[1] } ?? 0)
            guard number != since else { return (nil, number, event) }
            guard number > since, number - since <= RegistrationChanges.limit else { return (.any, number, event) }
            var keys: Set<Int64> = []
            while let row = try changed.next() { keys.insert(row[0]) }
            return (.these(keys), number, event)
        }
    }
}
