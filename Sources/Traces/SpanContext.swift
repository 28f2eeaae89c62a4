/// A trace: 16 bytes, not all zero (W3C Trace Context §3.2.2.3).
package struct TraceID: Hashable, Sendable {
    /// The first eight bytes.
    package let high: UInt64
    /// The last eight bytes.
    package let low: UInt64

    /// `nil`: all bytes are zero.
    package init?(high: UInt64, low: UInt64) {
        guard high != 0 || low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    /// A trace that nothing else has.
    package static func random(using generator: inout some RandomNumberGenerator) -> TraceID {
        TraceID(high: .random(in: 1 ... .max, using: &generator), low: .random(in: .min ... .max, using: &generator))!
    }

    /// 32 hexadecimal digits, in lower case.
    package var text: String { Hex.text(of: high) + Hex.text(of: low) }
}

/// A span within a trace: 8 bytes, not all zero (§3.2.2.4).
package struct SpanID: Hashable, Sendable {
    /// The bytes as a number.
    package let rawValue: UInt64

    /// `nil`: all bytes are zero.
    package init?(rawValue: UInt64) {
        guard rawValue != 0 else { return nil }
        self.rawValue = rawValue
    }

    /// A span that nothing else has.
    package static func random(using generator: inout some RandomNumberGenerator) -> SpanID {
        SpanID(rawValue: .random(in: 1 ... .max, using: &generator))!
    }

    /// 16 hexadecimal digits, in lower case.
    package var text: String { Hex.text(of: rawValue) }
}

/// What identifies a span everywhere: W3C Trace Context's `traceparent` and `tracestate`.
package struct SpanContext: Hashable, Sendable {
    /// The trace.
    package var traceID: TraceID
    /// The span.
    package var spanID: SpanID
    /// Whether it is recorded.
    package var isSampled: Bool
    /// What tracing systems of callers wrote beside it, passed on as it came; empty: nothing.
    package var state: String

    /// Names a span.
    package init(traceID: TraceID, spanID: SpanID, isSampled: Bool, state: String = "") {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
        self.state = state
    }

    /// A new span of the same trace.
    package func child(using generator: inout some RandomNumberGenerator) -> SpanContext {
        SpanContext(traceID: traceID, spanID: .random(using: &generator), isSampled: isSampled, state: state)
    }
}

// The two header fields.
extension SpanContext {
    /// The most bytes of a `tracestate` that is passed on (§3.3.1.5 asks for 512 at least).
    package static let stateLimitBytes = 512
    /// The most members of one (§3.3.1.1).
    private static let stateMembers = 32
    /// `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
    private static let parentBytes = 55

    /// Reads the header fields of a request.
    ///
    /// - Parameters:
    ///   - parents: the values of `traceparent`.
    ///   - states: the values of `tracestate`, in their order; one that breaks a rule is passed over, the parent counts.
    /// - Returns: `nil` when there is no `traceparent`, more than one, or one that is none.
    package init?(parents: [String], states: [String]) {
        guard parents.count == 1, let parent = parents.first else { return nil }
        self.init(parent: parent, state: states.joined(separator: ","))
    }

    private init?(parent: String, state: String) {
        let bytes = Array(parent.utf8)
        let dash = UInt8(ascii: "-")
        guard bytes.count >= Self.parentBytes, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
            let version = Hex.number(bytes[0..<2]), version != 0xff,
            // Version 0 has nothing behind the flags, a later one has a dash before what it adds (§3.2.2).
            version == 0 ? bytes.count == Self.parentBytes : bytes.count == Self.parentBytes || bytes[55] == dash,
            let high = Hex.number(bytes[3..<19]), let low = Hex.number(bytes[19..<35]),
            let trace = TraceID(high: high, low: low), let number = Hex.number(bytes[36..<52]),
            let span = SpanID(rawValue: number), let flags = Hex.number(bytes[53..<55])
        else { return nil }
        self.init(traceID: trace, spanID: span, isSampled: flags & 1 == 1, state: Self.isSound(state) ? state : "")
    }

    /// The value of `traceparent`.
    package var parent: String { "00-\(traceID.text)-\(spanID.text)-\(isSampled ? "01" : "00")" }

    /// Whether a `tracestate` may be passed on: members `key=value` of visible characters.
    private static func isSound(_ state: String) -> Bool {
        let members = state.split(separator: ",", omittingEmptySubsequences: false)
        return state.utf8.count <= stateLimitBytes && members.count <= stateMembers
            && state.utf8.allSatisfy { (0x20...0x7e).contains($0) || $0 == 0x09 }
            && members.allSatisfy { member in
                let text = member.drop { $0 == " " || $0 == "\t" }
                return text.isEmpty || (text.first != "=" && text.contains("="))
            }
    }
}

/// Numbers as hexadecimal digits in lower case, all of them written.
private enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    static func text(of number: UInt64) -> String {
        let bytes = stride(from: 60, through: 0, by: -4).map { digits[Int((number >> UInt64($0)) & 15)] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `nil`: something else than digits and `a` to `f`.
    static func number(_ bytes: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for byte in bytes {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            number = number << 4 | UInt64(digit)
        }
        return number
    }
}
