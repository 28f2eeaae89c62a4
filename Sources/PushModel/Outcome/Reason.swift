/// A push service's word for a refusal, as it came: what the ledger and reports show. What it means is said by the
/// service's table, once, when the answer comes: see ``Refusal``.
package struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The service's spelling.
    package let rawValue: String

    /// Takes a reason as the service wrote it.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Takes a reason from the source text.
    package init(stringLiteral value: String) {
        self.init(rawValue: value)
    }

    /// The service's spelling.
    package var description: String { rawValue }
}
