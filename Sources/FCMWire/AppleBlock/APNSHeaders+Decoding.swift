import PushModel

extension APNSHeaders {
    /// One header that a sender may set: its name, what is said when the value is wrong, and how it is read.
    private struct Rule: Sendable {
        let name: String
        let expectation: String
        /// Stores the value; `false` when it is wrong.
        let read: @Sendable (_ value: String, _ headers: inout APNSHeaders) -> Bool
    }

    private static let rules: [Rule] = [
        Rule(name: "apns-push-type", expectation: PushType.allCases.map(\.rawValue).joined(separator: ", ")) {
            $1.pushType = PushType(rawValue: $0)
            return $1.pushType != nil
        },
        Rule(name: "apns-topic", expectation: "1 to 255 of [A-Za-z0-9._-]") {
            $1.topic = $0
            return $0.isMade(of: "-_.", upTo: 255)
        },
        Rule(name: "apns-priority", expectation: "1, 5 or 10") { text, headers in
            headers.priority = PushPriority.allCases.first { String($0.rawValue) == text }
            return headers.priority != nil
        },
        Rule(name: "apns-expiration", expectation: "seconds since 1970, a non-negative integer") {
            $1.expiration = APNSExpiration(header: $0)
            return $1.expiration != nil
        },
        Rule(name: "apns-collapse-id", expectation: "1 to 64 bytes without control characters") {
            $1.collapseID = $0
            return (1...64).contains($0.utf8.count) && $0.isFieldValue
        },
        Rule(name: "apns-id", expectation: "a UUID (8-4-4-4-12 hex digits)") {
            $1.id = PushID(rawValue: $0)
            return $1.id != nil
        },
    ]

    private static let rulesByName = Dictionary(
        rules.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    /// Takes one header as a sender wrote it; the name in any case.
    ///
    /// - Returns: what is wrong with it, which leaves the headers as they were; `nil` when it was taken.
    mutating func set(_ name: String, to value: String) -> String? {
        let name = name.lowercased()
        guard let rule = Self.rulesByName[name] else {
            return "'\(name.excerpt)' is not a header that a sender can set: "
                + Self.rules.map(\.name).joined(separator: ", ") + "."
        }
        var taken = self
        guard rule.read(value, &taken) else {
            return "Invalid value for the header \(name): it must be \(rule.expectation)."
        }
        self = taken
        return nil
    }
}

extension APNSExpiration {
    /// The last second of the year 9999: larger values are no times.
    private static let lastSecond: Int64 = 253_402_300_799

    /// Reads the value of `apns-expiration`: `0`, or seconds since the epoch.
    fileprivate init?(header text: String) {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let seconds = Int64(text), seconds <= Self.lastSecond
        else { return nil }
        self = seconds == 0 ? .once : .until(Timestamp(seconds: seconds))
    }
}

extension String {
    /// Whether HTTP/2 can carry the text as a field value (RFC 9113 §8.2.1): no control characters, no blank at
    /// either end.
    var isFieldValue: Bool {
        utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } && first != " " && last != " "
    }
}
