package import PushModel

/// Reads the dates of HTTP (RFC 9110 §5.6.7): the usual form and the two obsolete ones that must still be understood.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The time that `text` stands for; `nil`: it is no date.
    ///
    /// - Parameter now: tells the century of a year of two digits, which is never more than 50 years ahead.
    package static func time(of text: String, now: Timestamp) -> Timestamp? {
        let words = text.split(separator: " ")
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT
        case 6 where words[5] == "GMT":
            return time(year: number(words[3], digits: 4), month: words[2], day: number(words[1]), words[4])
        // Sunday, 06-Nov-94 08:49:37 GMT
        case 4 where words[3] == "GMT":
            let date = words[1].split(separator: "-")
            guard date.count == 3, let year = number(date[2], digits: 2) else { return nil }
            return time(year: century(of: year, now: now), month: date[1], day: number(date[0]), words[2])
        // Sun Nov  6 08:49:37 1994
        case 5:
            return time(year: number(words[4], digits: 4), month: words[1], day: number(words[2]), words[3])
        default:
            return nil
        }
    }

    private static func century(of year: Int, now: Timestamp) -> Int {
        let thisYear = 1970 + Int(now.seconds / 31_556_952)
        let candidate = thisYear / 100 * 100 + year
        return candidate > thisYear + 50 ? candidate - 100 : candidate
    }

    private static func number(_ text: Substring, digits: Int? = nil) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 4, digits == nil || text.utf8.count == digits else { return nil }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(text)
    }

    private static func time(year: Int?, month: Substring, day: Int?, _ clock: Substring) -> Timestamp? {
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2) }
        guard let year, let month = months.firstIndex(of: String(month)), let day, (1...31).contains(day),
            parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            // 60 is a leap second.
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let seconds = days(year, month + 1, day) * 86_400 + hour * 3600 + minute * 60 + second
        return Timestamp(seconds: Int64(seconds))
    }

    /// Days since 1970 of a date in the Gregorian calendar: years begin in March, so that the leap day is last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let shiftedMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
