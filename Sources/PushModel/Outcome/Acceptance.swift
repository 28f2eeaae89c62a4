/// What a push service says of a push that it accepts: its own id, and for how long it keeps the push. A ledger entry has
/// it as text.
package struct Acceptance: Hashable, Sendable {
    /// The service's own id: Google's message name, or of a browser's service the address of the message (`Location`);
    /// `nil`: it gave none.
    package let id: String?
    /// For how many seconds it keeps the push for a device that is not reachable, as it said; `nil`: it did not say.
    package let seconds: Int64?

    /// A longer id is none.
    package static let longestIDBytes = 1024

    /// Says what a service said; `nil`: nothing.
    ///
    /// - Parameters:
    ///   - id: one that is too long, or has a character that is blank or no printable ASCII, is none.
    ///   - seconds: a negative number is none.
    package init?(id: String?, seconds: Int64? = nil) {
        self.id = id.flatMap { Self.isID($0) ? $0 : nil }
        self.seconds = seconds.flatMap { $0 >= 0 ? $0 : nil }
        if self.id == nil, self.seconds == nil { return nil }
    }

    /// Reads ``text``; `nil`: it says nothing.
    package init?(text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(id: parts.first.map(String.init), seconds: parts.count > 1 ? Int64(parts[1]) : nil)
    }

    /// The id, then after a blank the seconds; what there is of it.
    package var text: String { (id ?? "") + (seconds.map { " \($0)" } ?? "") }

    private static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= longestIDBytes && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}
