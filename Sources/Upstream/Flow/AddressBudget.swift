import PushModel

/// How many pushes go to one address within a minute, for services that count them: what is beyond waits here, where it costs
/// no quota. A value without clock or I/O.
///
/// Of millions of addresses few ever come near the limit. So pushes are counted by the hashes of their addresses first, in
/// a table of a fixed size; only addresses whose place in it is used much have a count of their own, which begins with
/// that of the place. So none gets more than the limit, and one that shares its place may get a little less.
struct AddressBudget {
    /// How far back pushes count.
    static let window: Duration = .seconds(60)
    /// The most addresses that have a count of their own; further ones have no limit until some are over.
    static let ownLimit = 20_000
    /// From so many pushes of a place on its addresses have counts of their own.
    static let shareLimit = 16
    private static let places = 1 << 17
    /// The window moves in so many steps.
    private static let steps: Int64 = 6

    /// The pushes to one address, by steps of the window; the last is the present one.
    private struct Own {
        var step: Int64
        /// Newest first.
        var counts: [UInt32]

        init(step: Int64, count: Int) {
            self.step = step
            counts = [UInt32](repeating: 0, count: Int(AddressBudget.steps))
            counts[0] = UInt32(count)
        }

        mutating func turn(to now: Int64) {
            let passed = min(now - step, AddressBudget.steps)
            guard passed > 0 else { return }
            step = now
            counts.removeLast(Int(passed))
            counts.insert(contentsOf: repeatElement(0, count: Int(passed)), at: 0)
        }

        var sum: Int { counts.reduce(0) { $0 + Int($1) } }
    }

    private let limit: Int
    private var shared: [UInt8] = []
    private var own: [Address: Own] = [:]
    private var sharedSince: Duration = .zero

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
        let step = now.wholeMilliseconds / Self.stepMilliseconds
        if !own.isEmpty, let wait = takeOwn(address, step, at: now) { return wait > .zero ? wait : nil }
        let place = Int(UInt(bitPattern: address.hashValue) % UInt(Self.places))
        guard shared[place] >= min(Self.shareLimit, limit) else {
            shared[place] += 1
            return nil
        }
        if own.count >= Self.ownLimit { sweep(at: step) }
        guard own.count < Self.ownLimit else { return nil }
        own[address] = Own(step: step, count: Int(shared[place]))
        let wait = takeOwn(address, step, at: now) ?? .zero
        return wait > .zero ? wait : nil
    }

    /// By the address's own count: zero, it goes; `nil`: it has none.
    private mutating func takeOwn(_ address: Address, _ step: Int64, at now: Duration) -> Duration? {
        guard let index = own.index(forKey: address) else { return nil }
        own.values[index].turn(to: step)
        guard own.values[index].sum >= limit else {
            own.values[index].counts[0] += 1
            return .zero
        }
        // Until the oldest that counts is out of the window.
        let oldest = own.values[index].counts.lastIndex { $0 > 0 } ?? 0
        let end = (step - Int64(oldest) + Self.steps) * Self.stepMilliseconds
        return .milliseconds(max(1, end - now.wholeMilliseconds))
    }

    private static let stepMilliseconds = window.wholeMilliseconds / steps

    private mutating func turn(to now: Duration) {
        guard shared.isEmpty || now - sharedSince >= Self.window else { return }
        shared = [UInt8](repeating: 0, count: Self.places)
        sharedSince = now
        sweep(at: now.wholeMilliseconds / Self.stepMilliseconds)
    }

    /// Forgets the addresses that nothing went to within the window.
    private mutating func sweep(at step: Int64) {
        own = own.filter { step - $0.value.step < Self.steps }
    }
}
