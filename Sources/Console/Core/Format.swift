import PushModel
import Store

/// HTML that is made here and not escaped again: templates show it with three braces.
struct Markup: Sendable, CustomStringConvertible {
    let description: String

    init(_ html: String) { description = html }
}

/// Figures, times and spans as pages show them.
enum Format {
    /// `1,234,567`.
    static func number(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "−" : ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// `12.3 %`; `–` of nothing.
    static func share(_ part: Int, of whole: Int) -> String {
        guard whole > 0 else { return "–" }
        let tenths = Int((Double(part) * 1000 / Double(whole)).rounded())
        if tenths == 0, part > 0 { return "< 0.1 %" }
        return tenths.isMultiple(of: 10) ? "\(tenths / 10) %" : "\(tenths / 10).\(tenths % 10) %"
    }

    /// A time, absolute in UTC: the script writes it in the operator's zone, and how long ago it is.
    static func time(_ time: Timestamp) -> Markup {
        let text = time.rfc3339
        let plain = text.prefix(19).replacing("T", with: " ") + " UTC"
        return Markup("<time datetime=\"\(text)\">\(plain)</time>")
    }

    /// `1.2 s`, `340 ms`, `3 min 20 s`, `2 h 5 min`, `4 days`.
    static func span(milliseconds: Int64) -> String {
        switch milliseconds {
        case ..<0: return "0 ms"
        case ..<1000: return "\(milliseconds) ms"
        case ..<10_000: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
        case ..<60_000: return "\(milliseconds / 1000) s"
        case ..<3_600_000:
            let (minutes, seconds) = (milliseconds / 60_000, milliseconds % 60_000 / 1000)
            return seconds == 0 ? "\(minutes) min" : "\(minutes) min \(seconds) s"
        case ..<172_800_000:
            let (hours, minutes) = (milliseconds / 3_600_000, milliseconds % 3_600_000 / 60_000)
            return minutes == 0 ? "\(hours) h" : "\(hours) h \(minutes) min"
        default: return "\(milliseconds / 86_400_000) days"
        }
    }

    /// `3.4 GB`.
    static func bytes(_ bytes: Int) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 1000, unit < units.count - 1 { (value, unit) = (value / 1000, unit + 1) }
        guard unit > 0 else { return "\(bytes) B" }
        let tenths = Int((value * 10).rounded())
        return tenths >= 1000 ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// A count with its noun.
    static func count(_ count: Int, _ one: String, _ many: String? = nil) -> String {
        "\(number(count)) \(count == 1 ? one : many ?? one + "s")"
    }

    /// JSON with line ends and blanks, for people.
    static func pretty(_ text: String) -> String { text }
}
