import Foundation

/// How long to wait after requests that came to nothing.
///
/// | failures in a row | seconds, half of which are left to chance |
/// |---|---|
/// | 1, 2, 3, 4, … | 2, 4, 8, 16, … |
/// | from 10 | 900 |
enum RetryDelay {
    /// No wait is longer.
    static let longest: TimeInterval = 3600
    /// After a refusal that only another key or another release of the app ends.
    static let afterRefusal: TimeInterval = 3600

    /// The seconds after a number of failures in a row.
    ///
    /// - Parameters:
    ///   - jitter: from 0 to 1.
    ///   - retryAfter: what the gateway asked for, which is kept to up to ``longest``.
    static func seconds(failures: Int, jitter: Double, retryAfter: TimeInterval? = nil) -> TimeInterval {
        let full = min(900, Double(1 << min(max(failures, 1), 10)))
        return max(full / 2 + full / 2 * jitter, min(retryAfter ?? 0, longest))
    }
}
