import JSON
import PushModel

/// The body of a refusal: `{"reason":"Unregistered","timestamp":1700000000000}`. Proxies and dying servers answer with
/// other bodies or none, so either part may be missing.
struct ErrorBody {
    private(set) var reason: Reason?
    private(set) var timestamp: Timestamp?

    init(_ body: [UInt8]) {
        guard let value = Self.parsed(body) else { return }
        reason = value["reason"]?.stringValue.flatMap(Self.reason)
        if case .number(let digits)? = value["timestamp"] {
            timestamp = Self.milliseconds(digits).map(Timestamp.init(milliseconds:))
        }
    }

    /// The longest reason that is kept; Apple's have up to 27 characters.
    private static let longestReason = 64

    /// A reason goes into logs, reports and the ledger, from any sender: what is not printable ASCII shows as `?`.
    private static func reason(_ text: String) -> Reason? {
        guard !text.isEmpty else { return nil }
        let isPlain = text.utf8.count <= longestReason && text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
        if isPlain { return Reason(rawValue: text) }
        let scalars = text.unicodeScalars.prefix(longestReason)
        return Reason(rawValue: String(scalars.map { (" "..."~").contains($0) ? Character($0) : "?" }))
    }

    private static func parsed(_ body: [UInt8]) -> JSONValue? {
        guard !body.isEmpty else { return nil }
        do {
            return try JSONValue(parsing: body)
        } catch {
            // Not JSON: the status alone decides.
            return nil
        }
    }

    private static func milliseconds(_ digits: String) -> Int64? {
        Int64(digits) ?? Double(digits).flatMap { Int64(exactly: $0.rounded(.towardZero)) }
    }
}
