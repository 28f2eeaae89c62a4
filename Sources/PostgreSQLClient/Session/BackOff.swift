/// When the next attempt to connect may begin, after some that failed. A value without clock and chance.
///
/// | failed in a row | pause |
/// |---|---|
/// | 1 | 0.1 s |
/// | 2 | 0.2 s |
/// | 3 | 0.4 s |
/// | n | twice the one before, up to the longest |
///
/// Of each pause a part between none and a quarter is taken off by chance, so that nodes don't come at the same time.
struct BackOff {
    private let longest: Duration
    private var failures = 0
    private var next: ContinuousClock.Instant?
    /// Why the last attempt failed.
    private(set) var error: PostgreSQLError?

    private static let first: Duration = .milliseconds(100)

    init(longest: Duration) {
        self.longest = longest
    }

    /// How long to wait before the next attempt; `nil`: it may begin.
    func wait(at now: ContinuousClock.Instant) -> Duration? {
        guard let next, next > now else { return nil }
        return next - now
    }

    /// An attempt failed.
    ///
    /// - Parameter chance: between 0 and 1.
    mutating func failed(_ error: PostgreSQLError, at now: ContinuousClock.Instant, chance: Double) {
        self.error = error
        let pause = min(longest, Self.first * (1 << min(failures, 16)))
        failures += 1
        next = now + pause * (1 - chance / 4)
    }

    /// An attempt succeeded.
    mutating func succeeded() {
        (failures, next, error) = (0, nil, nil)
    }
}
