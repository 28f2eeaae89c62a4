import DequeModule

/// How many connections a listener takes.
package struct ConnectionLimits: Hashable, Sendable {
    /// In all; at least 1.
    package var total: Int
    /// From one address, of IPv6 from one network of 64 bits; `nil`: as many as in all.
    package var perAddress: Int?

    /// Puts limits together.
    package init(total: Int = 10_000, perAddress: Int? = nil) {
        self.total = total
        self.perAddress = perAddress
    }
}

/// Which connections are open, where they come from, and which of them have not asked for anything yet.
///
/// At a limit a new connection takes the place of the one that has been silent the longest: of the same address at the
/// address's limit, otherwise of all. One that was asked something before keeps its place, and when all were, the new one
/// is refused. So connections that only stand open keep no other out, and one address takes no place from another before
/// all are taken.
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

    private struct Entry {
        let number: Int
        let address: ClientAddress?
        var isSilent = true
    }

    /// Connections in the order in which they came. Those that spoke or closed since are passed over, and taken out when
    /// they are the greater part.
    private struct Arrivals {
        private(set) var queue: Deque<(id: ID, number: Int)> = []
        var openCount = 0

        mutating func append(_ id: ID, _ number: Int, ifStill isSilent: (ID, Int) -> Bool) {
            openCount += 1
            if queue.count > 2 * openCount + 16 { queue.removeAll { !isSilent($0.id, $0.number) } }
            queue.append((id, number))
        }

        mutating func takeFirst(where isSilent: (ID, Int) -> Bool) -> ID? {
            while let (id, number) = queue.popFirst() {
                if isSilent(id, number) { return id }
            }
            return nil
        }
    }

    private let limits: ConnectionLimits
    private var entries: [ID: Entry] = [:]
    private var all = Arrivals()
    private var addresses: [ClientAddress: Arrivals] = [:]
    private var arrived = 0

    /// An empty book.
    init(_ limits: ConnectionLimits) {
        self.limits = limits
    }

    /// How many are open.
    var count: Int { entries.count }

    /// How many arrivals are kept in mind, also of connections that are gone: bounded by those that are open.
    var remembered: Int { all.queue.count + addresses.values.reduce(0) { $0 + $1.queue.count } }

    /// Takes a new connection in, if there is room or one that makes room.
    ///
    /// - Parameter address: `nil`: it counts for none.
    mutating func admit(_ id: ID, from address: ClientAddress?) -> Admission {
        var replaced: ID?
        if let address, let limit = limits.perAddress, addresses[address, default: Arrivals()].openCount >= limit {
            guard let silent = silent(of: address) else { return .refused(.address) }
            replaced = silent
        } else if entries.count >= limits.total {
            guard let silent = silent() else { return .refused(.total) }
            replaced = silent
        }
        if let replaced { remove(replaced) }
        arrived += 1
        entries[id] = Entry(number: arrived, address: address)
        let isSilent = { [entries] (id: ID, number: Int) in Self.isSilent(entries[id], number) }
        all.append(id, arrived, ifStill: isSilent)
        if let address { addresses[address, default: Arrivals()].append(id, arrived, ifStill: isSilent) }
        return replaced.map { .inPlaceOf($0) } ?? .admitted
    }

    /// Notes that a connection was asked for something: it keeps its place from now on.
    mutating func noteRequest(on id: ID) {
        if entries[id]?.isSilent == true { entries[id]?.isSilent = false }
    }

    /// Takes a connection out; one that is not in the book stays out.
    mutating func remove(_ id: ID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        all.openCount -= 1
        guard let address = entry.address else { return }
        addresses[address]?.openCount -= 1
        if addresses[address]?.openCount == 0 { addresses[address] = nil }
    }

    private mutating func silent() -> ID? {
        all.takeFirst { [entries] id, number in Self.isSilent(entries[id], number) }
    }

    private mutating func silent(of address: ClientAddress) -> ID? {
        addresses[address]?.takeFirst { [entries] id, number in Self.isSilent(entries[id], number) }
    }

    private static func isSilent(_ entry: Entry?, _ number: Int) -> Bool {
        guard let entry else { return false }
        return entry.number == number && entry.isSilent
    }
}
