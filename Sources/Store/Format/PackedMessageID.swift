package import PushModel

/// What the column of a message's id holds.
///
/// | column | id |
/// |---|---|
/// | 15 bytes, the first below 32 | made here: microseconds in 7 bytes and the random part in 8, both from the highest byte on |
/// | anything else | the characters of the id, of which none is below 32 |
///
/// Ids made here are in the order of accept in both forms.
extension MessageID {
    private static let packedCount = 15
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    private static let letters = UInt8(ascii: "a")...UInt8(ascii: "f")
    /// Of `0:<microseconds>-<16 hex digits>`: what stands before the microseconds, and behind them.
    private static let (prefixCount, suffixCount) = (2, 17)
    /// No microseconds from here on begin with a byte below 32.
    private static let end: UInt64 = 32 << 48

    /// The bytes that stand for the id.
    package var packed: [UInt8] {
        let text = Array(rawValue.utf8)
        guard let (micros, random) = Self.parts(of: text) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.packedCount)
        for shift in stride(from: 48, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: micros >> shift)) }
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: random >> shift)) }
        return bytes
    }

    /// Reads what ``packed`` made; `nil` for other bytes.
    package init?(packed bytes: [UInt8]) {
        guard let first = bytes.first, first < 32 else {
            self.init(rawValue: String(decoding: bytes, as: UTF8.self))
            return
        }
        guard bytes.count == Self.packedCount else { return nil }
        let micros = bytes[..<7].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let random = bytes[7...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let hex = String(random, radix: 16)
        self.init(rawValue: "0:\(micros)-\(String(repeating: "0", count: 16 - hex.count))\(hex)")
    }

    /// The numbers of an id made here, exactly as it is written; `nil`: it is another one.
    private static func parts(of text: [UInt8]) -> (micros: UInt64, random: UInt64)? {
        let dash = text.count - suffixCount
        // Up to 17 digits: more make no date, and none of them is too large for the arithmetic.
        guard (prefixCount + 1...prefixCount + 17).contains(dash), text[0] == UInt8(ascii: "0"),
            text[1] == UInt8(ascii: ":"), text[2] != UInt8(ascii: "0"), text[dash] == UInt8(ascii: "-")
        else { return nil }
        var (micros, random): (UInt64, UInt64) = (0, 0)
        for byte in text[prefixCount..<dash] {
            guard digits.contains(byte) else { return nil }
            micros = micros * 10 + UInt64(byte - digits.lowerBound)
        }
        for byte in text[(dash + 1)...] {
            if digits.contains(byte) {
                random = random << 4 | UInt64(byte - digits.lowerBound)
            } else if letters.contains(byte) {
                random = random << 4 | UInt64(byte - letters.lowerBound + 10)
            } else {
                return nil
            }
        }
        return micros < end ? (micros, random) : nil
    }
}
