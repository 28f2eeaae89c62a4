/// The modules of a QR code while it is drawn, ISO/IEC 18004 §6.3 and §7.7 to §7.10.
struct QRMatrix {
    let size: Int
    private(set) var isDark: [Bool]
    /// Modules of patterns, of format and of version: no data goes there and no mask changes them.
    private var isReserved: [Bool]

    /// Draws the patterns of a version and puts the codewords around them; the format information stays open.
    init(_ version: QRVersion, codewords: [UInt8]) {
        size = version.size
        isDark = Array(repeating: false, count: size * size)
        isReserved = isDark
        drawTiming()
        drawFinders()
        drawAlignments(version)
        // A place is held by any format: masks come later.
        drawFormat(.low, mask: 0)
        drawVersion(version)
        place(codewords)
    }

    subscript(_ column: Int, _ row: Int) -> Bool { isDark[row * size + column] }

    /// This matrix under a mask, with its format information.
    func masked(_ mask: Int, _ correction: QRCorrection) -> QRMatrix {
        var masked = self
        for row in 0..<size {
            for column in 0..<size where !isReserved[row * size + column] && Self.inverts(mask, column, row) {
                masked.isDark[row * size + column].toggle()
            }
        }
        masked.drawFormat(correction, mask: mask)
        return masked
    }

    /// The conditions of ISO/IEC 18004 Table 10.
    private static func inverts(_ mask: Int, _ column: Int, _ row: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    private mutating func reserve(_ column: Int, _ row: Int, _ dark: Bool) {
        isDark[row * size + column] = dark
        isReserved[row * size + column] = true
    }

    /// §6.3.5.
    private mutating func drawTiming() {
        for index in 0..<size {
            reserve(6, index, index % 2 == 0)
            reserve(index, 6, index % 2 == 0)
        }
    }

    /// §6.3.3 with the separators of §6.3.4.
    private mutating func drawFinders() {
        for (column, row) in [(3, 3), (size - 4, 3), (3, size - 4)] {
            for y in -4...4 {
                for x in -4...4 where (0..<size).contains(column + x) && (0..<size).contains(row + y) {
                    let distance = max(abs(x), abs(y))
                    reserve(column + x, row + y, distance != 2 && distance != 4)
                }
            }
        }
    }

    /// §6.3.6: none where a finder is.
    private mutating func drawAlignments(_ version: QRVersion) {
        let centres = version.alignments
        for row in centres {
            for column in centres {
                let isAtFinder =
                    (column == 6 && row == 6) || (column == 6 && row == size - 7) || (column == size - 7 && row == 6)
                guard !isAtFinder else { continue }
                for y in -2...2 {
                    for x in -2...2 { reserve(column + x, row + y, max(abs(x), abs(y)) != 1) }
                }
            }
        }
    }

    /// §7.9.1, two copies and the module that is always dark.
    private mutating func drawFormat(_ correction: QRCorrection, mask: Int) {
        let bits = Self.format(correction, mask: mask)
        func isSet(_ bit: Int) -> Bool { bits >> bit & 1 == 1 }
        for bit in 0...5 { reserve(8, bit, isSet(bit)) }
        reserve(8, 7, isSet(6))
        reserve(8, 8, isSet(7))
        reserve(7, 8, isSet(8))
        for bit in 9...14 { reserve(14 - bit, 8, isSet(bit)) }
        for bit in 0...7 { reserve(size - 1 - bit, 8, isSet(bit)) }
        for bit in 8...14 { reserve(8, size - 15 + bit, isSet(bit)) }
        reserve(8, size - 8, true)
    }

    /// Five bits with the ten of a BCH code (15, 5), XORed so that none is all zeros: §7.9.1 and Annex C.
    static func format(_ correction: QRCorrection, mask: Int) -> Int {
        let data = correction.formatBits << 3 | mask
        return (data << 10 | remainder(data, bits: 10, generator: 0b101_0011_0111)) ^ 0b101_0100_0001_0010
    }

    /// §7.10, two copies.
    private mutating func drawVersion(_ version: QRVersion) {
        guard version.number >= 7 else { return }
        let bits = Self.version(version)
        for bit in 0..<18 {
            let isSet = bits >> bit & 1 == 1
            reserve(size - 11 + bit % 3, bit / 3, isSet)
            reserve(bit / 3, size - 11 + bit % 3, isSet)
        }
    }

    /// Six bits with the twelve of a BCH code (18, 6): Annex D.
    static func version(_ version: QRVersion) -> Int {
        version.number << 12 | remainder(version.number, bits: 12, generator: 0b1_1111_0010_0101)
    }

    /// The remainder of a division of polynomials over GF(2).
    private static func remainder(_ data: Int, bits: Int, generator: Int) -> Int {
        var remainder = data
        for _ in 0..<bits { remainder = remainder << 1 ^ (remainder >> (bits - 1) & 1) * generator }
        return remainder
    }

    /// §7.7.3: pairs of columns from the right, upwards and downwards in turn, without the column of the timing pattern.
    private mutating func place(_ codewords: [UInt8]) {
        var bit = 0
        for pair in 0..<size / 2 {
            let right = size - 1 - 2 * pair
            // Left of the timing pattern everything is one column further.
            let column = right <= 6 ? right - 1 : right
            for step in 0..<size {
                let row = pair % 2 == 0 ? size - 1 - step : step
                for column in [column, column - 1] where !isReserved[row * size + column] {
                    // What remains of the symbol after the last codeword is light.
                    guard bit < codewords.count * 8 else { return }
                    isDark[row * size + column] = codewords[bit / 8] >> UInt8(7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
        }
    }
}
