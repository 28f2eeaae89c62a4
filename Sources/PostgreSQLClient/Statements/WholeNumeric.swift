/// Whole numbers in the binary format of `numeric`: count of digits, weight of the first digit, sign, digits after the
/// point that are shown (16 bits each), and then the digits, to the base 10,000
/// (PostgreSQL's src/backend/utils/adt/numeric.c, `numeric_send`).
enum WholeNumeric {
    private static let negative: UInt16 = 0x4000

    /// Reads a number.
    ///
    /// - Returns: `nil`: it is not whole, not a number, or needs more than 64 bits.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count >= 8 else { return nil }
        let word = { (index: Int) in UInt16(unsafe bytes[2 * index]) << 8 | UInt16(unsafe bytes[2 * index + 1]) }
        let (count, weight, sign) = (Int(word(0)), Int(Int16(bitPattern: word(1))), word(2))
        guard bytes.count == 8 + 2 * count, sign == 0 || sign == negative else { return nil }
        var value: Int64 = 0
        for place in 0..<max(count, weight + 1) where count > 0 {
            let digit = place < count ? Int64(word(4 + place)) : 0
            guard place <= weight else {
                // After the point.
                if digit != 0 { return nil }
                continue
            }
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10_000)
            // Below zero there is one number more.
            let (sum, isTooLargeNow) = product.subtractingReportingOverflow(digit)
            guard digit < 10_000, !isTooLarge, !isTooLargeNow else { return nil }
            value = sum
        }
        if sign == negative { return value }
        let (positive, isTooLarge) = (0 as Int64).subtractingReportingOverflow(value)
        return isTooLarge ? nil : positive
    }

    /// Writes a number.
    static func encode(_ number: Int64) -> [UInt8] {
        var digits: [UInt16] = []
        var rest = number.magnitude
        while rest > 0 {
            digits.append(UInt16(rest % 10_000))
            rest /= 10_000
        }
        digits.reverse()
        let weight = UInt16(max(0, digits.count - 1))
        let words = [UInt16(digits.count), weight, number < 0 ? negative : 0, 0] + digits
        return words.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
    }
}
