/// A GOAWAY frame (RFC 9113 §6.8): the peer takes no new streams on this connection.
struct GoAway: Equatable, Sendable {
    /// The error code's name (RFC 9113 §7).
    let error: String
    /// Whether the peer holds something against us.
    let isError: Bool
    /// Streams above it were not processed.
    let lastStream: Int32
    /// Why, in the peer's words: the `reason` of Apple's JSON, or other debug data as far as it is text. Nothing but
    /// printable ASCII, and not much of it.
    let reason: String?

    /// The most characters of a reason that are kept.
    static let reasonLimit = 100

    init(code: UInt32, error: String, lastStream: Int32, debugData: some Sequence<UInt8>) {
        self.error = error
        isError = code != 0
        self.lastStream = lastStream
        let text = Self.printable(debugData)
        let reason = Self.jsonReason(in: text) ?? text
        self.reason = reason.isEmpty ? nil : String(reason.prefix(Self.reasonLimit))
    }

    /// What it is counted under.
    var label: String { reason ?? error }

    /// Everything, for failures and logs.
    var description: String {
        "GOAWAY \(error), last stream \(lastStream)" + (reason.map { ": \($0)" } ?? "")
    }

    /// The data without what a log or a label must not hold.
    private static func printable(_ data: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in data {
            text.unicodeScalars.append((0x20..<0x7F).contains(byte) ? Unicode.Scalar(byte) : " ")
        }
        return text.split(separator: " ").joined(separator: " ")
    }

    /// The value of `"reason"`, when it is a string without escapes: Apple's reasons are single words.
    private static func jsonReason(in text: String) -> String? {
        guard text.first == "{", let name = text.firstRange(of: "\"reason\"") else { return nil }
        var rest = text[name.upperBound...].drop { $0 == " " }
        guard rest.popFirst() == ":" else { return nil }
        rest = rest.drop { $0 == " " }
        guard rest.popFirst() == "\"", let end = rest.firstIndex(of: "\"") else { return nil }
        let value = rest[..<end]
        return value.isEmpty || value.contains("\\") ? nil : String(value)
    }
}

/// GOAWAY frames by reason. Bounded: the peer chooses the words.
struct GoAwayCounts {
    /// How often each reason came.
    private(set) var counts: [String: Int] = [:]

    /// The most reasons that are told apart; the rest is counted under ``other``.
    static let limit = 16
    static let other = "other"

    var total: Int { counts.values.reduce(0, +) }

    mutating func note(_ goAway: GoAway) { add(1, of: goAway.label) }

    mutating func add(_ count: Int, of label: String) {
        let isKnown = counts[label] != nil || counts.count < Self.limit - 1
        counts[isKnown ? label : Self.other, default: 0] += count
    }
}
