/// Why APNs refused a push: the `reason` of its answer, or the closest name when it gave none.
///
/// Reasons that are not in the table survive as they came; they are classified by their HTTP status.
public struct APNSReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Apple's spelling.
    public let rawValue: String

    /// Takes a reason as APNs wrote it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Apple's spelling.
    public var description: String { rawValue }
}
