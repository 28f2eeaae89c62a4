import Store

/// When a request that failed is made again.
///
/// | attempt that failed | rest before the next |
/// |---|---|
/// | 1 | 5 s |
/// | 2 | 5 min |
/// | 3 | 30 min |
/// | 4 | 2 h |
/// | 5 | 5 h |
/// | 6 | 10 h |
/// | 7 | 14 h |
/// | 8 | 20 h |
/// | 9 | 24 h |
/// | 10 | an event is given up; a batch goes on, every 24 h |
///
/// Each rest is up to a fifth longer or shorter by chance, so that receivers that failed together are not asked together.
package enum RetrySchedule {
    /// How often an event is tried.
    package static let attempts = rests.count + 1

    private static let rests: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1800), .seconds(7200), .seconds(18_000), .seconds(36_000),
        .seconds(50_400), .seconds(72_000), .seconds(86_400),
    ]

    /// The longest rest that a receiver may ask for.
    private static let longest: Duration = .seconds(86_400)

    /// The rest after an attempt that failed.
    ///
    /// - Parameters:
    ///   - failed: how many attempts of the delivery have failed, at least 1.
    ///   - retryAfter: what the receiver asks for: taken between the scheduled rest and twice that, at most a day.
    ///   - random: from 0 up to 1.
    package static func rest(after failed: Int, retryAfter: Duration?, random: Double) -> Duration {
        let base = rests[min(max(failed, 1), rests.count) - 1]
        guard let retryAfter else { return base * (0.8 + 0.4 * random) }
        return max(base, min(retryAfter, base * 2, longest))
    }
}
