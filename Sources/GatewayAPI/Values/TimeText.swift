import PushModel

extension Timestamp {
    /// RFC 3339 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`. The form of google.protobuf.Timestamp, and one
    /// that `bq load` takes.
    var rfc3339: String {
        let day = Self.floorDivide(milliseconds, by: 86_400_000)
        let time = milliseconds - day * 86_400_000
        let date = CivilDate(daysSinceEpoch: day)
        return "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))"
            + "T\(Self.padded(time / 3_600_000, 2)):\(Self.padded(time / 60_000 % 60, 2))"
            + ":\(Self.padded(time / 1000 % 60, 2)).\(Self.padded(time % 1000, 3))Z"
    }

    /// Reads RFC 3339 (§5.6): any offset, any number of fractional digits (cut to milliseconds); years 1 to 9999.
    init?(rfc3339 text: String) {
        guard
            let match = text.wholeMatch(
                of: /(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))/)
        else { return nil }
        let fields = [match.1, match.2, match.3, match.4, match.5, match.6].map { Int64($0) ?? 0 }
        let date = CivilDate(year: fields[0], month: fields[1], day: fields[2])
        guard date.exists, fields[3] < 24, fields[4] < 60, fields[5] <= 60 else { return nil }
        let offset = match.9.flatMap { Int64($0) }.map { $0 * 60 } ?? 0
        let offsetMinutes = offset + (match.10.flatMap { Int64($0) } ?? 0)
        let fraction = Int64((match.7.map(String.init) ?? "").prefix(3).padding(to: 3)) ?? 0
        let minutes = (date.daysSinceEpoch * 24 + fields[3]) * 60 + fields[4]
        let utcMinutes = match.8 == "-" ? minutes + offsetMinutes : minutes - offsetMinutes
        self.init(milliseconds: (utcMinutes * 60 + fields[5]) * 1000 + fraction)
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension StringProtocol {
    /// The text with zeros behind it up to `width` characters.
    fileprivate func padding(to width: Int) -> String {
        self + String(repeating: "0", count: Swift.max(0, width - count))
    }
}

/// A date of the proleptic Gregorian calendar.
private struct CivilDate {
    let year: Int64
    let month: Int64
    let day: Int64

    init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    // Both conversions count from 1 March, so that the leap day is a year's last, in eras of 400 years
    // (Howard Hinnant, "chrono-compatible low-level date algorithms").

    init(daysSinceEpoch days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    var daysSinceEpoch: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Whether the calendar has the date.
    var exists: Bool {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1 else { return false }
        let back = CivilDate(daysSinceEpoch: daysSinceEpoch)
        return back.year == year && back.month == month && back.day == day
    }
}

/// Milliseconds as a google.protobuf.Duration: `"0.123s"`, `"2s"`.
func durationText(milliseconds: Int64) -> String {
    let sign = milliseconds < 0 ? "-" : ""
    let (seconds, rest) = milliseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
    guard rest > 0 else { return "\(sign)\(seconds)s" }
    let digits = String(rest)
    return "\(sign)\(seconds).\(String(repeating: "0", count: 3 - digits.count))\(digits)s"
}
