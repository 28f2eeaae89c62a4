/// How much of a QR code may be unreadable, ISO/IEC 18004 §6.5.1.
package enum QRCorrection: Int, Hashable, Sendable, CaseIterable {
    /// L: about 7 %.
    case low
    /// M: about 15 %.
    case medium
    /// Q: about 25 %.
    case quartile
    /// H: about 30 %.
    case high

    /// Reads the standard's letter, `L`, `M`, `Q` or `H`, in either case; `nil` for anything else.
    package init?(letter: String) {
        guard let found = Self.allCases.first(where: { $0.letter == letter.uppercased() }) else { return nil }
        self = found
    }

    /// The standard's letter.
    package var letter: String {
        switch self {
        case .low: "L"
        case .medium: "M"
        case .quartile: "Q"
        case .high: "H"
        }
    }

    /// The two bits of the format information, ISO/IEC 18004 Table 12.
    var formatBits: Int {
        switch self {
        case .low: 1
        case .medium: 0
        case .quartile: 3
        case .high: 2
        }
    }
}
