import JSON
import PushModel

/// What a value in `aps` must be (apns.md §4). APNs itself checks only size and JSON shape: a wrong type reaches the
/// device and the notification is silently not shown, so it is refused here.
enum APSKind: Sendable {
    /// A string.
    case text
    /// A list of strings.
    case texts
    /// One of a few strings.
    case word([String])
    /// An integer of 0 or more.
    case count
    /// `1`; `0`, `true` and `false` are understood.
    case flag
    /// Any number.
    case number
    /// A time in seconds since 1970; one in milliseconds lies beyond the year 9999 and is refused.
    case time
    /// The id of a broadcast channel, base64.
    case channel
    /// A number in a closed range.
    case fraction
    /// A string or an object of these members.
    case textOr([String: APSKind])
    /// An object of these members; others may stand beside them, Apple adds some every year.
    case object([String: APSKind])
    /// `true` or `false`.
    case bool

    /// The `aps` dictionary.
    static let aps = APSKind.object(apsKeys)

    /// The keys of `aps`.
    static let apsKeys: [String: APSKind] = [
        "alert": .textOr(alertKeys),
        "badge": .count,
        "sound": sound,
        "thread-id": .text,
        "category": .text,
        "target-content-id": .text,
        "filter-criteria": .text,
        "content-available": .flag,
        "mutable-content": .flag,
        "interruption-level": .word(["passive", "active", "time-sensitive", "critical"]),
        "relevance-score": .number,
        "timestamp": .time,
        "event": .word(["start", "update", "end"]),
        "content-state": .object([:]),
        "stale-date": .time,
        "dismissal-date": .time,
        "attributes-type": .text,
        "attributes": .object([:]),
        "input-push-channel": .channel,
        "input-push-token": .flag,
        "content-changed": .bool,
        "url-args": .texts,
    ]

    /// The keys of `alert`. In a Live Activity `title` and `body` may be localised and `sound` sits inside.
    static let alertKeys: [String: APSKind] = [
        "title": localized,
        "subtitle": .text,
        "body": localized,
        "launch-image": .text,
        "title-loc-key": .text,
        "title-loc-args": .texts,
        "subtitle-loc-key": .text,
        "subtitle-loc-args": .texts,
        "loc-key": .text,
        "loc-args": .texts,
        "action": .text,
        "action-loc-key": .text,
        "summary-arg": .text,
        "summary-arg-count": .count,
        "sound": sound,
    ]

    private static let sound = APSKind.textOr(["critical": .flag, "name": .text, "volume": .fraction])
    private static let localized = APSKind.textOr(["loc-key": .text, "loc-args": .texts])
}

extension APSKind {
    /// What is wrong with `value`, in the order of the text; `null` counts as absent.
    func violations(in value: JSONValue, at path: String) -> [FieldViolation] {
        switch (self, value) {
        case (_, .null), (.text, .string), (.textOr, .string), (.bool, .bool), (.flag, .bool): return []
        case (.textOr(let keys), .object(let members)), (.object(let keys), .object(let members)):
            return members.flatMap { member in
                let place = "\(path).\(member.name)"
                let wrong = keys[member.name]?.violations(in: member.value, at: place) ?? []
                guard wrong.isEmpty, keys[member.name] != nil else { return wrong }
                return Self.missingKey(of: member, among: members, at: place).map { [$0] } ?? []
            }
        case (.texts, .array(let elements)):
            let wrong = elements.indices.lazy.filter { elements[$0].stringValue == nil }
            return wrong.prefix(InvalidMessage.violationLimit).map { index in
                FieldViolation(field: "\(path)[\(index)]", description: "\(name(of: path))[\(index)] must be a string.")
            }
        case (.word(let words), .string(let text)) where words.contains(text): return []
        case (.count, .number(let text)) where (wholeNumber(text) ?? -1) >= 0: return []
        case (.flag, .number(let text)) where [0, 1].contains(wholeNumber(text)): return []
        case (.number, .number): return []
        case (.time, .number(let text)) where Double(text).map(Self.times.contains) ?? false: return []
        case (.channel, .string(let text)) where text.isBase64: return []
        case (.fraction, .number(let text)) where Double(text).map { (0...1).contains($0) } ?? false: return []
        default:
            return [FieldViolation(field: path, description: "\(name(of: path)) must be \(expectation).")]
        }
    }

    /// Arguments without the key of the text that they belong to are shown nowhere.
    private static func missingKey(
        of member: JSONValue.Member, among members: [JSONValue.Member], at path: String
    ) -> FieldViolation? {
        guard member.name.hasSuffix("loc-args"), case .array(let elements) = member.value, !elements.isEmpty
        else { return nil }
        let key = member.name.dropLast("args".count) + "key"
        guard members.last(where: { $0.name == key })?.value ?? .null == .null else { return nil }
        return FieldViolation(field: path, description: "\(member.name) needs \(key) beside it.")
    }

    private func name(of path: String) -> Substring {
        path.split(separator: ".").last ?? path[...]
    }

    private var expectation: String {
        switch self {
        case .text: "a string"
        case .texts: "a list of strings"
        case .word(let words): "one of " + words.joined(separator: ", ")
        case .count: "an integer of 0 or more"
        case .flag: "1 (or 0)"
        case .number: "a number"
        case .time: "a time in seconds since 1970"
        case .channel: "a channel id (base64)"
        case .fraction: "a number from 0 to 1"
        case .textOr: "a string or an object"
        case .object: "an object"
        case .bool: "true or false"
        }
    }

    /// From 1970 to the end of the year 9999, in seconds.
    private static let times: ClosedRange<Double> = 0...253_402_300_799

    /// The number when it has no fraction, however it is written (`1`, `1.0`, `1e0`).
    private func wholeNumber(_ text: String) -> Int64? {
        if let number = Int64(text) { return number }
        // Beyond 2^53 a Double names no single integer.
        guard let number = Double(text), number.magnitude < 9_007_199_254_740_992 else { return nil }
        return Double(Int64(number)) == number ? Int64(number) : nil
    }
}

extension APSKind {
    /// The value with Apple's flags as numbers: senders write `true` as well.
    func withNumericFlags(_ value: JSONValue) -> JSONValue {
        switch (self, value) {
        case (.flag, .bool(let flag)): .number(flag ? "1" : "0")
        case (.object(let keys), .object(let members)), (.textOr(let keys), .object(let members)):
            .object(
                members.map { JSONValue.Member($0.name, keys[$0.name]?.withNumericFlags($0.value) ?? $0.value) })
        default: value
        }
    }
}

extension String {
    /// Whether the text is base64 (RFC 4648 §4 or §5), padded or not, of at least one byte.
    fileprivate var isBase64: Bool {
        let digits = utf8.reversed().drop { $0 == UInt8(ascii: "=") }
        guard digits.count > 1, digits.count % 4 != 1, utf8.count - digits.count <= 2 else { return false }
        return digits.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || "+/-_".utf8.contains(byte)
        }
    }
}
