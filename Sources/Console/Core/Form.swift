/// The fields of a query or of an `application/x-www-form-urlencoded` body; of a name twice the last counts.
struct Form: Sendable {
    private(set) var fields: [String: String] = [:]

    /// The most fields that are read.
    private static let fieldLimit = 200

    /// No fields.
    init() {}

    /// These fields.
    init(_ fields: [String: String]) {
        self.fields = fields
    }

    /// Reads fields; those with a broken percent-encoding are left out.
    init(_ bytes: [UInt8]) {
        for field in bytes.split(separator: UInt8(ascii: "&")).prefix(Self.fieldLimit) {
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1] : []
            guard let name = Self.decoded(spaced: parts[0]), let text = Self.decoded(spaced: value) else { continue }
            // Browsers end lines with CR LF.
            fields[name] = text.replacing("\r\n", with: "\n")
        }
    }

    /// A field's value without blanks at its ends; `nil` when it is absent or empty.
    subscript(name: String) -> String? {
        guard let value = fields[name]?.trimmed, !value.isEmpty else { return nil }
        return value
    }

    /// A field's value as it is; empty when it is absent.
    func text(_ name: String) -> String { fields[name] ?? "" }

    /// Whether a checkbox is set.
    func isOn(_ name: String) -> Bool { fields[name] != nil }

    private static func decoded(spaced bytes: some Collection<UInt8>) -> String? {
        decoded(utf8: bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
    }

    /// A percent-encoded text; `nil` when the encoding is broken.
    static func decoded(_ text: some StringProtocol) -> String? { decoded(utf8: Array(text.utf8)) }

    private static func decoded(utf8 bytes: [UInt8]) -> String? {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var place = 0
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "%") else {
                result.append(bytes[place])
                place += 1
                continue
            }
            guard place + 2 < bytes.count, let high = hex(bytes[place + 1]), let low = hex(bytes[place + 2]) else {
                return nil
            }
            result.append(high << 4 | low)
            place += 3
        }
        return String(validating: result, as: UTF8.self)
    }

    private static func hex(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension String {
    /// The text without blanks and line ends at its ends.
    var trimmed: String {
        let isBlank = { (character: Character) in character.isWhitespace }
        var rest = Substring(self)
        rest = rest.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }

    /// Percent-encoded as one segment of a path, or a value of a query.
    var urlEncoded: String {
        var text = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }
}
