/// Which reasons that are not in the table are told to the operator, each once in a while: new ones appear every year
/// or so. A value without clock or I/O.
struct UnknownReasons {
    /// A reason is not told again before this time is over.
    static let interval: Duration = .seconds(3600)
    /// No reason is told sooner after another.
    static let shortestInterval: Duration = .seconds(10)
    /// So many are remembered.
    static let limit = 32

    private var told: [String: Duration] = [:]
    private var last: Duration?

    /// Whether this reason is to be told now.
    mutating func note(_ reason: String, at now: Duration) -> Bool {
        if let last, now - last < Self.shortestInterval { return false }
        if let time = told[reason], now - time < Self.interval { return false }
        if told.count >= Self.limit { told = told.filter { now - $0.value < Self.interval } }
        guard told.count < Self.limit else { return false }
        told[reason] = now
        last = now
        return true
    }
}
