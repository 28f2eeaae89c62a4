import Foundation
import PushModel

/// `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// Seconds, or an HTTP date; `nil`: neither, or in the past.
    static func duration(_ text: String?, at now: Timestamp) -> Duration? {
        guard let text else { return nil }
        if let seconds = Int64(text), (0...31_536_000).contains(seconds) { return .seconds(seconds) }
        guard let date = try? Date(text, strategy: format) else { return nil }
        let rest = Timestamp(milliseconds: Int64(date.timeIntervalSince1970 * 1000)) - now
        return rest >= .zero ? rest : nil
    }

    /// The one form that is still written (RFC 9110 §5.6.7, IMF-fixdate).
    private static let format = Date.ParseStrategy(
        format: """
            \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits) GMT
            """,
        locale: Locale(identifier: "en_US_POSIX"), timeZone: TimeZone(secondsFromGMT: 0) ?? .gmt)
}
