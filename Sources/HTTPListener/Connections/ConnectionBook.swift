import DequeModule

/// Which connections are open, where they come from, and which of them could go.
///
/// At a limit a new connection takes the place of another: of the same address at the address's limit, otherwise of all. The
/// one that has been idle the longest goes, those that proved no credential of a backend first; when none is idle, the one
/// without such a credential whose request has been under way the longest. A request of a backend is never cut off, and when
/// there are only such, the new one is refused. So connections that only stand open keep no other out, and one address takes
/// no place from another before all are taken.
struct ConnectionBook<ID: Hashable> {
    /// What becomes of a new connection.
    enum Admission: Equatable {
        /// It is in the book.
        case admitted
        /// It is in the book, and this one no longer: to be closed.
        case inPlaceOf(ID)
        /// It is not in the book: to be closed.
        case refused(Limit)
    }

    /// Which limit was met.
    enum Limit: String {
        case total
        case address
    }

    /// Which connections go first.
    private enum Rank: Int, CaseIterable {
        case idleUnproven, idleProven, busyUnproven
    }

    private struct Entry {
        let address: ClientAddress?
        /// Of the time since it has its rank: larger ones are later.
        var number: Int
        var requests = 0
        var isProven = false
        /// The number at the last look, see ``ConnectionBook/isIdleSinceLastLook(_:)``.
        var seen: Int?

        /// `nil`: it keeps its place.
        var rank: Rank? {
            guard requests > 0 else { return isProven ? .idleProven : .idleUnproven }
            return isProven ? nil : .busyUnproven
        }
    }

    /// Connections of each rank in the order in which they got it. Those that have another by now or closed are passed over,
    /// and taken out when they are the greater part.
    private struct Candidates {
        typealias Queue = Deque<(id: ID, number: Int)>

        private(set) var queues = [Queue](repeating: [], count: Rank.allCases.count)
        var openCount = 0

        var remembered: Int { queues.reduce(0) { $0 + $1.count } }

        mutating func append(_ id: ID, _ number: Int, _ rank: Rank, _ entries: [ID: Entry]) {
            if queues[rank.rawValue].count > 2 * openCount + 16 {
                queues[rank.rawValue].removeAll { entries[$0.id]?.number != $0.number }
            }
            queues[rank.rawValue].append((id, number))
        }

        mutating func takeFirst(_ entries: [ID: Entry]) -> ID? {
            for rank in Rank.allCases {
                while let (id, number) = queues[rank.rawValue].popFirst() {
                    if entries[id]?.number == number { return id }
                }
            }
            return nil
        }
    }

    private let limits: ConnectionLimits
    private var entries: [ID: Entry] = [:]
    private var all = Candidates()
    private var addresses: [ClientAddress: Candidates] = [:]
    private var lastNumber = 0

    /// An empty book.
    init(_ limits: ConnectionLimits) {
        self.limits = limits
    }

    /// How many are open.
    var count: Int { entries.count }

    /// How many candidates are kept in mind, also connections that are gone: bounded by those that are open.
    var remembered: Int { all.remembered + addresses.values.reduce(0) { $0 + $1.remembered } }

    /// Takes a new connection in, if there is room or one that makes room.
    ///
    /// - Parameter address: `nil`: it counts for none.
    mutating func admit(_ id: ID, from address: ClientAddress?) -> Admission {
        var replaced: ID?
        if let address, let limit = limits.perAddress, addresses[address, default: Candidates()].openCount >= limit {
            guard let candidate = addresses[address]?.takeFirst(entries) else { return .refused(.address) }
            replaced = candidate
        } else if entries.count >= limits.total {
            guard let candidate = all.takeFirst(entries) else { return .refused(.total) }
            replaced = candidate
        }
        if let replaced { remove(replaced) }
        entries[id] = Entry(address: address, number: 0)
        all.openCount += 1
        if let address { addresses[address, default: Candidates()].openCount += 1 }
        line(up: id)
        return replaced.map { .inPlaceOf($0) } ?? .admitted
    }

    /// Notes that a request began.
    ///
    /// - Returns: whether the connection is in the book.
    @discardableResult
    mutating func beginRequest(on id: ID) -> Bool {
        guard entries[id] != nil else { return false }
        entries[id]?.requests += 1
        if entries[id]?.requests == 1 { line(up: id) }
        return true
    }

    /// Notes that a request ended.
    mutating func endRequest(on id: ID) {
        guard let entry = entries[id], entry.requests > 0 else { return }
        entries[id]?.requests -= 1
        if entry.requests == 1 { line(up: id) }
    }

    /// Notes that a request came with a credential of a backend.
    mutating func prove(_ id: ID) {
        guard entries[id]?.isProven == false else { return }
        entries[id]?.isProven = true
        line(up: id)
    }

    /// Whether a connection without a backend's credential has had no request since the last time that this was asked, or
    /// since it came; `nil`: it is gone, or need not be asked about any more.
    mutating func isIdleSinceLastLook(_ id: ID) -> Bool? {
        guard let entry = entries[id], !entry.isProven else { return nil }
        if entry.requests == 0, entry.seen == entry.number { return true }
        entries[id]?.seen = entry.number
        return false
    }

    /// Takes a connection out; one that is not in the book stays out.
    mutating func remove(_ id: ID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        all.openCount -= 1
        guard let address = entry.address else { return }
        addresses[address]?.openCount -= 1
        if addresses[address]?.openCount == 0 { addresses[address] = nil }
    }

    /// Puts a connection at the end of those of its rank.
    private mutating func line(up id: ID) {
        guard let entry = entries[id] else { return }
        lastNumber += 1
        entries[id]?.number = lastNumber
        guard let rank = entry.rank else { return }
        all.append(id, lastNumber, rank, entries)
        if let address = entry.address { addresses[address]?.append(id, lastNumber, rank, entries) }
    }
}
