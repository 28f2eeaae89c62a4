/// How many pushes go a second, for a service that counts them: a bucket that fills steadily and that each push takes one
/// from. A value without clock or I/O.
///
/// It begins with a thousand a second and grows to its limit within a minute in which pushes go, since services ask for a
/// gradual start. When the service says that it is too much the rate is halved, once a second at most, and grows from
/// there. After a minute without a push it begins anew.
struct SendPace: Equatable {
    /// Pushes a second at the beginning; less when the limit is less.
    static let startRate = 1000.0
    /// The rate is never halved to less than this, unless the limit is less.
    static let floorRate = 100.0
    /// From the beginning to the limit.
    static let rampTime: Duration = .seconds(60)
    /// Without a push for so long the rate is that of the beginning again.
    static let idleTime: Duration = .seconds(60)
    /// Between two decreases.
    static let decreaseInterval: Duration = .seconds(1)
    /// What the bucket holds, in seconds of the rate: so much may go at once.
    private static let burst = 0.1
    /// What bulk pushes leave of the bucket to interactive ones.
    private static let reserve = 0.1

    private var limit: Double
    /// Pushes a second, now.
    private(set) var rate: Double
    private var tokens: Double
    private var filledAt: Duration?
    private var usedAt: Duration?
    private var decreasedAt: Duration?

    /// Keeps to `limit` pushes a second, at least 1.
    init(limit: Int) {
        precondition(limit >= 1, "a pace of \(limit) a second")
        self.limit = Double(limit)
        rate = min(Self.startRate, self.limit)
        tokens = 0
        tokens = capacity
    }

    /// Keeps to another limit from now on, at least 1: what has gone counts.
    mutating func setLimit(_ limit: Int) {
        precondition(limit >= 1, "a pace of \(limit) a second")
        self.limit = Double(limit)
        rate = min(rate, self.limit)
        tokens = min(tokens, capacity)
    }

    private var capacity: Double { max(2, rate * Self.burst) }

    /// What stays for interactive pushes; of a small bucket nothing, or bulk ones would never go.
    private func reserved(isUrgent: Bool) -> Double {
        isUrgent || capacity < 10 ? 0 : capacity * Self.reserve
    }

    /// How many may go now, as of the last ``refill(at:)``.
    func room(isUrgent: Bool) -> Int { max(0, Int(tokens - reserved(isUrgent: isUrgent))) }

    /// After how long ``room(isUrgent:)`` will be worth a visit: half a bucket, or what is wanted if that is less.
    func wait(for wanted: Int, isUrgent: Bool) -> Duration {
        let goal = max(1, min(Double(wanted), capacity / 2))
        let missing = goal + reserved(isUrgent: isUrgent) - tokens
        return .seconds(min(max(missing / rate, 0.001), 1))
    }

    /// Time has passed.
    mutating func refill(at now: Duration) {
        defer { filledAt = now }
        guard let filledAt, now > filledAt else { return }
        if let usedAt, now - usedAt >= Self.idleTime { rate = min(rate, Self.startRate) }
        let elapsed = Double(secondsOf: now - filledAt)
        tokens = min(capacity, tokens + elapsed * rate)
        // Time in which nothing went is no proof that more may go.
        guard let usedAt, now - usedAt <= .seconds(1) else { return }
        let growth = max(limit - Self.startRate, limit / 2) / Double(secondsOf: Self.rampTime)
        rate = min(limit, rate + min(elapsed, 1) * growth)
    }

    /// `count` pushes go, no more than ``room(isUrgent:)``.
    mutating func take(_ count: Int) {
        tokens -= Double(count)
        if count > 0 { usedAt = filledAt }
    }

    /// The service says that it is too much.
    mutating func overloaded(at now: Duration) {
        if let decreasedAt, now - decreasedAt < Self.decreaseInterval { return }
        decreasedAt = now
        rate = max(min(Self.floorRate, limit), rate / 2)
        tokens = min(tokens, capacity)
    }
}

extension Double {
    /// Seconds, to the microsecond.
    fileprivate init(secondsOf duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = Double(seconds) + Double(attoseconds / 1_000_000_000_000) / 1_000_000
    }
}
