/// A text that a QR code can't hold.
package struct QRError: Error, Hashable, CustomStringConvertible {
    /// Bytes of the text in UTF-8.
    package let bytes: Int
    /// The correction that was asked for; less of it leaves more room.
    package let correction: QRCorrection

    package var description: String {
        "\(bytes) bytes don't fit into a QR code with error correction \(correction.letter)"
    }
}

/// A QR code, model 2, after ISO/IEC 18004: the smallest version that holds the text, in one segment.
package struct QRCode: Hashable, Sendable {
    /// 1...40.
    package let version: Int
    /// How much of it may be unreadable.
    package let correction: QRCorrection
    /// Which of the eight masks it has, 0...7.
    package let mask: Int
    /// Modules on a side, 21...177, without the quiet zone.
    package let size: Int
    private let isDark: [Bool]

    /// Encodes a text: 2953 bytes at most with low correction, 2331 with medium, 1663 with quartile, 1273 with high.
    ///
    /// - Throws: ``QRError`` for more.
    package init(_ text: String, correction: QRCorrection = .medium) throws(QRError) {
        try self.init(text, correction: correction, mask: nil)
    }

    /// - Parameter mask: 0...7; `nil` for the one with the least penalty.
    init(_ text: String, correction: QRCorrection, mask: Int?) throws(QRError) {
        let bits = QRBits(text)
        guard let version = QRVersion.all.first(where: { bits.count($0) <= 8 * $0.dataCodewords(correction) }) else {
            throw QRError(bytes: text.utf8.count, correction: correction)
        }
        let data = bits.codewords(version, capacity: version.dataCodewords(correction))
        let matrix = QRMatrix(version, codewords: Self.corrected(data, version, correction))
        var best: (mask: Int, matrix: QRMatrix, penalty: Int)?
        for candidate in mask.map({ $0...$0 }) ?? 0...7 {
            let masked = matrix.masked(candidate, correction)
            let penalty = mask == nil ? masked.penalty : 0
            if penalty < best?.penalty ?? .max { best = (candidate, masked, penalty) }
        }
        self.version = version.number
        self.correction = correction
        self.mask = best?.mask ?? 0
        self.size = version.size
        self.isDark = best?.matrix.isDark ?? matrix.isDark
    }

    /// Whether a module is dark.
    ///
    /// - Parameters:
    ///   - x: the column from the left; outside of `0..<size` is the quiet zone, which is light.
    ///   - y: the row from the top.
    package subscript(_ x: Int, _ y: Int) -> Bool {
        guard (0..<size).contains(x), (0..<size).contains(y) else { return false }
        return isDark[y * size + x]
    }

    /// Cuts the data into blocks, corrects each and takes one codeword of each in turn, ISO/IEC 18004 §7.6.
    static func corrected(_ data: [UInt8], _ version: QRVersion, _ correction: QRCorrection) -> [UInt8] {
        let count = version.blocks(correction)
        let code = ReedSolomon(count: version.correctionCodewords(correction))
        // The last blocks have one codeword more where the division leaves a rest.
        let short = data.count / count
        var blocks: [ArraySlice<UInt8>] = []
        var rest = data[...]
        for index in 0..<count {
            let length = short + (index >= count - data.count % count ? 1 : 0)
            blocks.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return interleaved(blocks) + interleaved(blocks.map { code.correction(of: $0)[...] })
    }

    private static func interleaved(_ blocks: [ArraySlice<UInt8>]) -> [UInt8] {
        let longest = blocks.map(\.count).max() ?? 0
        return (0..<longest).flatMap { index in
            blocks.compactMap { index < $0.count ? $0[$0.startIndex + index] : nil }
        }
    }
}
