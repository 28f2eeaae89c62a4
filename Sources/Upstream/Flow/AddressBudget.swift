import DequeModule
import PushModel

/// How many pushes go to one address within a minute, for services that count them: what is beyond waits here, where it costs
/// no quota. A value without clock or I/O.
///
/// Of millions of addresses few ever come near the limit. So pushes are counted by the hashes of their addresses first, in
/// a table of a fixed size, that of the last window and of the one before; only addresses whose place in it is used much have
/// a count of their own, which begins with that of the place. So none gets more than the limit, and one that shares its place
/// or had pushes at the begin of the window before may wait a little longer.
struct AddressBudget {
    /// How far back pushes count.
    static let window: Duration = .seconds(60)
    /// The most addresses that have a count of their own; further ones have no limit until some are over.
    static let ownLimit = 20_000
    /// From so many pushes of a place on its addresses have counts of their own.
    static let shareLimit = 16
    private static let places = 1 << 17
    private static let windowMilliseconds = window.wholeMilliseconds

    /// When pushes went to one address within the window, in milliseconds, the oldest first: as many as the limit at most.
    private struct Own {
        var times: Deque<Int64>

        init(count: Int, at now: Int64) {
            times = Deque(repeating: now, count: count)
        }

        mutating func turn(to now: Int64) {
            while let oldest = times.first, oldest + AddressBudget.windowMilliseconds <= now { times.removeFirst() }
        }
    }

    private let limit: Int
    private var shared: [UInt8] = []
    private var previous: [UInt8] = []
    private var own: [Address: Own] = [:]
    private var sharedSince: Duration = .zero
    /// The last look for counts that are over, while there is no room: one in a second.
    private var sweptAt: Duration?

    /// - Parameter limit: pushes a minute, at least 1.
    init(limit: Int) {
        precondition(limit >= 1, "a budget of \(limit) a minute")
        self.limit = limit
    }

    /// How many addresses have counts of their own.
    var ownCount: Int { own.count }

    /// A push is to go to the address: how long it has to wait; `nil`: it goes, and counts.
    mutating func take(_ address: Address, at now: Duration) -> Duration? {
        turn(to: now)
        let milliseconds = now.wholeMilliseconds
        if !own.isEmpty, let wait = takeOwn(address, at: milliseconds) { return wait > .zero ? wait : nil }
        let place = Int(UInt(bitPattern: address.hashValue) % UInt(Self.places))
        let count = Int(shared[place]) + Int(previous[place])
        guard count >= min(Self.shareLimit, limit) else {
            shared[place] += 1
            return nil
        }
        if own.count >= Self.ownLimit, sweptAt.map({ now - $0 >= .seconds(1) }) ?? true { sweep(at: now) }
        guard own.count < Self.ownLimit else { return nil }
        own[address] = Own(count: min(count, limit), at: milliseconds)
        let wait = takeOwn(address, at: milliseconds) ?? .zero
        return wait > .zero ? wait : nil
    }

    /// By the address's own count: zero, it goes; `nil`: it has none.
    private mutating func takeOwn(_ address: Address, at now: Int64) -> Duration? {
        guard let index = own.index(forKey: address) else { return nil }
        own.values[index].turn(to: now)
        guard own.values[index].times.count >= limit, let oldest = own.values[index].times.first else {
            own.values[index].times.append(now)
            return .zero
        }
        return .milliseconds(oldest + Self.windowMilliseconds - now)
    }

    private mutating func turn(to now: Duration) {
        guard shared.isEmpty || now - sharedSince >= Self.window else { return }
        let none = [UInt8](repeating: 0, count: Self.places)
        guard !shared.isEmpty else {
            (shared, previous, sharedSince) = (none, none, now)
            return
        }
        previous = now - sharedSince >= Self.window + Self.window ? none : shared
        shared = none
        // The windows follow each other without gaps, whenever somebody looks.
        sharedSince += Self.window * Int((now - sharedSince) / Self.window)
        sweep(at: now)
    }

    /// Forgets the addresses that nothing went to for as long as the tables may hold a push of theirs.
    private mutating func sweep(at now: Duration) {
        sweptAt = now
        let end = now.wholeMilliseconds - 2 * Self.windowMilliseconds
        own = own.filter { $0.value.times.last.map { $0 > end } ?? false }
    }
}
