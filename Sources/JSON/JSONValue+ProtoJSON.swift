// How proto-JSON writes what JSON has no type for (https://protobuf.dev/programming-guides/json).

extension JSONValue {
    /// A whole number of 32 bits: a number without a fraction, however it is written, or one in a string.
    package var int32Value: Int32? {
        guard let text = numberText else { return nil }
        // `5e2` and `500.0` are whole numbers too.
        return Int32(text) ?? Double(text).flatMap(Int32.init(exactly:))
    }

    /// A number that 32 bits hold, or its text, `NaN`, `Infinity` or `-Infinity` in a string.
    package var floatValue: Float? {
        switch self {
        case .string("NaN"): return .nan
        case .string("Infinity"): return .infinity
        case .string("-Infinity"): return -.infinity
        case .null, .bool, .number, .string, .array, .object:
            return numberText.flatMap { Float($0) }.flatMap { $0.isFinite ? $0 : nil }
        }
    }

    /// The text of a number, or of one in a string: JSON's own form, so neither `+5` nor `0x10` nor blanks.
    private var numberText: String? {
        switch self {
        case .number(let text): return text
        case .string(let text):
            // What is no JSON is no number: the caller says so with the path.
            guard case .number(let number)? = try? JSONValue(parsing: text.utf8), number.hasSameBytes(as: text)
            else { return nil }
            return number
        case .null, .bool, .array, .object: return nil
        }
    }
}

/// Why a text is not a google.protobuf.Duration, in the words of Google's front end.
package struct DurationSyntaxError: Error, Hashable, Sendable {
    /// What was wrong.
    package let message: String
}

extension Duration {
    /// The most seconds that a google.protobuf.Duration has, in both directions: 10,000 years.
    private static let protoLimit: Int64 = 315_576_000_000

    /// Reads `"3.5s"`: seconds with up to nine decimals.
    package init(protoJSON text: String) throws(DurationSyntaxError) {
        guard text.utf8.last == UInt8(ascii: "s") else {
            throw DurationSyntaxError(message: "Illegal duration format; duration must end with 's'")
        }
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let parts = text.utf8.dropLast().dropFirst(isNegative ? 1 : 0)
            .split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let seconds = Self.number(parts[0], upTo: 18) else {
            throw DurationSyntaxError(message: "Invalid duration format, failed to parse seconds")
        }
        var nanoseconds: Int64 = 0
        if parts.count == 2 {
            guard var number = Self.number(parts[1], upTo: 9) else {
                throw DurationSyntaxError(message: "Invalid duration format, failed to parse nano seconds")
            }
            for _ in parts[1].count..<9 { number *= 10 }
            nanoseconds = number
        }
        guard seconds < Self.protoLimit || seconds == Self.protoLimit && nanoseconds == 0 else {
            throw DurationSyntaxError(message: "Duration value exceeds limits")
        }
        let magnitude = Duration.seconds(seconds) + .nanoseconds(nanoseconds)
        self = isNegative ? .zero - magnitude : magnitude
    }

    /// Digits alone, at least one and at most `limit` of them.
    private static func number(_ digits: Substring.UTF8View, upTo limit: Int) -> Int64? {
        guard (1...limit).contains(digits.count) else { return nil }
        var number: Int64 = 0
        for byte in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return number
    }
}
