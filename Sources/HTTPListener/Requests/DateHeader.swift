import Synchronization

/// The `Date` of answers (RFC 9110 §5.6.7), written anew when the second changes.
final class DateHeader: Sendable {
    private let last: Mutex<(second: Int64, text: String)>

    /// No date yet.
    init() {
        last = Mutex((.min, ""))
    }

    /// The date.
    ///
    /// - Parameter second: seconds since 1970, UTC.
    func text(at second: Int64) -> String {
        last.withLock { last in
            if last.second != second { last = (second, Self.written(second)) }
            return last.text
        }
    }

    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func written(_ second: Int64) -> String {
        let (days, rest) = (Int((second / 86_400)), Int(second % 86_400))
        let (year, month, day) = civilDate(days)
        let time = [rest / 3600, rest / 60 % 60, rest % 60].map(padded).joined(separator: ":")
        return "\(Self.days[days % 7]), \(padded(day)) \(months[month - 1]) \(year) \(time) GMT"
    }

    private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }

    /// The day of the Gregorian calendar that is so many days after 1 January 1970.
    ///
    /// Years are counted from 1 March of the year 0, so that a leap day is a year's last; 400 of them have 146,097 days.
    private static func civilDate(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }
}
