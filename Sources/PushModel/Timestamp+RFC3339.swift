extension Timestamp: CustomStringConvertible {
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// RFC 3339 in UTC with milliseconds: `2026-03-01T12:30:00.250Z`. Years after 9999 have more digits.
    package var rfc3339: String {
        var day = milliseconds / Self.millisecondsPerDay
        var rest = milliseconds % Self.millisecondsPerDay
        if rest < 0 {
            day -= 1
            rest += Self.millisecondsPerDay
        }
        let date = Self.date(ofDay: day)
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { Self.padded($0, to: 2) }
        return [Self.padded(date.year, to: 4), Self.padded(date.month, to: 2), Self.padded(date.day, to: 2)]
            .joined(separator: "-") + "T" + time.joined(separator: ":") + "." + Self.padded(rest % 1000, to: 3) + "Z"
    }

    /// The time in RFC 3339.
    package var description: String { rfc3339 }

    /// Reads RFC 3339 with any offset and any number of fraction digits; what is finer than a millisecond is cut off.
    /// `nil` for anything else, also for dates that do not exist. A leap second is the first of the next minute.
    package init?(rfc3339 text: String) {
        var scanner = DigitScanner(rest: text.utf8[...])
        guard let year = scanner.number(digits: 4), scanner.skip("-"), let month = scanner.number(digits: 2),
            scanner.skip("-"), let day = scanner.number(digits: 2), scanner.skip("T") || scanner.skip("t"),
            let hour = scanner.number(digits: 2), scanner.skip(":"), let minute = scanner.number(digits: 2),
            scanner.skip(":"), let second = scanner.number(digits: 2), let fraction = scanner.fraction(),
            let offset = scanner.offset(), scanner.rest.isEmpty,
            (1...12).contains(month), (1...Self.length(ofMonth: month, in: year)).contains(day), hour < 24,
            minute < 60, second <= 60
        else { return nil }
        let days = Self.day(year: year, month: month, day: day)
        let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second
        milliseconds = seconds * 1000 + fraction
    }

    /// Days since 1970-01-01 of a date in the Gregorian calendar: years begin in March, so that the leap day comes
    /// last, and 400 years have 146,097 days.
    private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The date in the Gregorian calendar of a day since 1970-01-01.
    package static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let day = day + 719_468
        let era = (day >= 0 ? day : day - 146_096) / 146_097
        let dayOfEra = day - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func length(ofMonth month: Int64, in year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        switch month {
        case 2: return isLeap ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    private static func padded(_ number: Int64, to length: Int) -> String {
        let digits = String(number.magnitude)
        return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, length - digits.count)) + digits
    }
}

/// Reads fields of fixed width off the front of a text.
private struct DigitScanner {
    var rest: Substring.UTF8View

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(digits: Int) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Milliseconds; 0 when there is no fraction, `nil` when there is a point without digits.
    mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        guard var milliseconds = digit().map({ $0 * 100 }) else { return nil }
        var weight: Int64 = 10
        while let digit = digit() {
            milliseconds += digit * weight
            weight /= 10
        }
        return milliseconds
    }

    /// Minutes east of UTC.
    mutating func offset() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let sign: Int64
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = number(digits: 2), skip(":"), let minutes = number(digits: 2), hours < 24, minutes < 60 else {
            return nil
        }
        return sign * (hours * 60 + minutes)
    }

    private mutating func digit() -> Int64? {
        guard let byte = rest.first, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
        rest.removeFirst()
        return Int64(byte - UInt8(ascii: "0"))
    }
}

extension Timestamp {
    /// The years 1 to 9999, which google.protobuf.Timestamp has.
    private static let protoRange =
        Timestamp(milliseconds: -62_135_596_800_000)...Timestamp(milliseconds: 253_402_300_799_999)

    /// Reads RFC 3339 within the range of google.protobuf.Timestamp.
    package init?(protoJSON text: String) {
        guard let time = Timestamp(rfc3339: text), Self.protoRange.contains(time) else { return nil }
        self = time
    }
}
