/// A size of a QR code with what the standard says about it: 1, 21 modules wide, to 40, 177 modules wide.
struct QRVersion: Hashable, Sendable {
    /// All of them, smallest first.
    static let all = (1...40).map(QRVersion.init)

    /// 1...40.
    let number: Int

    /// Modules on a side, ISO/IEC 18004 §6.3.1.
    var size: Int { 17 + 4 * number }

    /// Codewords of data and of correction, ISO/IEC 18004 Table 1: modules that no pattern takes, in bytes.
    var codewords: Int {
        var modules = (16 * number + 128) * number + 64
        if number >= 2 {
            let alignments = number / 7 + 2
            modules -= (25 * alignments - 10) * alignments - 55
        }
        // Version information stands twice.
        if number >= 7 { modules -= 36 }
        return modules / 8
    }

    /// Rows, and columns, of the centres of alignment patterns, ISO/IEC 18004 Annex E.
    var alignments: [Int] {
        guard number >= 2 else { return [] }
        let count = number / 7 + 2
        let distance = (number * 8 + count * 3 + 5) / (count * 4 - 4) * 2
        return [6] + (0..<count - 1).map { size - 7 - $0 * distance }.reversed()
    }

    /// Blocks that are corrected on their own, ISO/IEC 18004 Table 9.
    func blocks(_ correction: QRCorrection) -> Int {
        Self.blocks[correction.rawValue][number - 1]
    }

    /// Codewords of correction in each block, ISO/IEC 18004 Table 9.
    func correctionCodewords(_ correction: QRCorrection) -> Int {
        Self.correctionCodewords[correction.rawValue][number - 1]
    }

    /// Codewords that are left for data, ISO/IEC 18004 Table 7.
    func dataCodewords(_ correction: QRCorrection) -> Int {
        codewords - blocks(correction) * correctionCodewords(correction)
    }

    private static let blocks: [[Int]] = [
        [
            1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8,
            8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 24, 25,
        ],
        [
            1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16,
            17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
        ],
        [
            1, 1, 2, 2, 4, 4, 6, 6, 8, 8, 8, 10, 12, 16, 12, 17, 16, 18, 21, 20,
            23, 23, 25, 27, 29, 34, 34, 35, 38, 40, 43, 45, 48, 51, 53, 56, 59, 62, 65, 68,
        ],
        [
            1, 1, 2, 4, 4, 4, 5, 6, 8, 8, 11, 11, 16, 16, 18, 16, 19, 21, 25, 25,
            25, 34, 30, 32, 35, 37, 40, 42, 45, 48, 51, 54, 57, 60, 63, 66, 70, 74, 77, 81,
        ],
    ]

    private static let correctionCodewords: [[Int]] = [
        [
            7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28,
            28, 28, 30, 30, 26, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
        ],
        [
            10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26,
            26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        ],
        [
            13, 22, 18, 26, 18, 24, 18, 22, 20, 24, 28, 26, 24, 20, 30, 24, 28, 28, 26, 30,
            28, 30, 30, 30, 30, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
        ],
        [
            17, 28, 22, 16, 22, 28, 26, 26, 24, 28, 24, 28, 22, 24, 24, 30, 28, 28, 26, 28,
            30, 24, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
        ],
    ]
}
