import PushModel

/// How many of something happen in a second, lately: the mean over the last five to ten seconds.
struct RateMeter {
    private static let window: Duration = .seconds(5)
    /// After this long without a count there is no rate.
    private static let memory: Duration = .seconds(60)

    private var count = 0
    private var began: Timestamp?
    private var last: Double?

    /// Counts `count` at `now`.
    mutating func add(_ count: Int, at now: Timestamp) {
        let start = began ?? now
        began = start
        if now - start >= Self.window {
            last = Self.rate(self.count, over: now - start)
            self.count = 0
            began = now
        }
        self.count += count
    }

    /// The rate; `nil`: nothing was counted lately, or for less than a second.
    func rate(at now: Timestamp) -> Double? {
        guard let began, now - began < Self.memory else { return nil }
        let own = now - began >= .seconds(1) ? Self.rate(count, over: now - began) : nil
        return own ?? last
    }

    private static func rate(_ count: Int, over duration: Duration) -> Double? {
        count > 0 ? Double(count) * 1000 / Double(duration.wholeMilliseconds) : nil
    }
}
