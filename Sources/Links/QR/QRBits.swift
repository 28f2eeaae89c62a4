/// The data codewords of a text, ISO/IEC 18004 §7.4.
struct QRBits {
    /// How characters become bits.
    enum Mode: Hashable, Sendable {
        /// Two of the 45 characters of Table 5 in 11 bits.
        case alphanumeric
        /// UTF-8.
        case bytes
    }

    let mode: Mode
    private let text: [UInt8]

    /// Takes the mode that needs fewer bits.
    init(_ text: String) {
        self.text = Array(text.utf8)
        mode = self.text.allSatisfy { Self.alphanumeric($0) != nil } ? .alphanumeric : .bytes
    }

    /// Bits of the text in a version: the mode's mark, the count and the characters.
    func count(_ version: QRVersion) -> Int {
        4 + countBits(version) + (mode == .bytes ? 8 * text.count : 11 * (text.count / 2) + 6 * (text.count % 2))
    }

    /// The codewords, filled up with the pad codewords of §7.4.10.
    ///
    /// - Parameter capacity: data codewords of the version; the text has to fit.
    func codewords(_ version: QRVersion, capacity: Int) -> [UInt8] {
        var writer = Writer()
        writer.append(mode == .bytes ? 0b0100 : 0b0010, bits: 4)
        writer.append(text.count, bits: countBits(version))
        switch mode {
        case .bytes:
            for byte in text { writer.append(Int(byte), bits: 8) }
        case .alphanumeric:
            let values = text.compactMap(Self.alphanumeric)
            for index in stride(from: 0, to: values.count - 1, by: 2) {
                writer.append(values[index] * 45 + values[index + 1], bits: 11)
            }
            if values.count % 2 == 1 { writer.append(values[values.count - 1], bits: 6) }
        }
        // The terminator is cut where the symbol ends (§7.4.9).
        writer.append(0, bits: min(4, capacity * 8 - writer.count))
        writer.append(0, bits: (8 - writer.count % 8) % 8)
        var codewords = writer.bytes
        for index in 0..<capacity - codewords.count { codewords.append(index % 2 == 0 ? 0xec : 0x11) }
        return codewords
    }

    /// Bits of the character count, ISO/IEC 18004 Table 3.
    private func countBits(_ version: QRVersion) -> Int {
        switch (mode, version.number) {
        case (.bytes, ...9): 8
        case (.bytes, _): 16
        case (.alphanumeric, ...9): 9
        case (.alphanumeric, ...26): 11
        case (.alphanumeric, _): 13
        }
    }

    /// The value of a character, ISO/IEC 18004 Table 5; `nil` for one that it has not.
    private static func alphanumeric(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte - UInt8(ascii: "A")) + 10
        default: " $%*+-./:".utf8.enumerated().first { $0.element == byte }.map { $0.offset + 36 }
        }
    }

    /// Bits put together to bytes, the highest first.
    private struct Writer {
        private(set) var bytes: [UInt8] = []
        private(set) var count = 0

        mutating func append(_ value: Int, bits: Int) {
            for shift in (0..<bits).reversed() {
                if count % 8 == 0 { bytes.append(0) }
                if value >> shift & 1 == 1 { bytes[count / 8] |= 0x80 >> UInt8(count % 8) }
                count += 1
            }
        }
    }
}
