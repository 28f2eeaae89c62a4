/// PNG files of one bit a pixel, W3C PNG specification (second edition).
enum PNGImage {
    /// A row of pixels, eight a byte.
    static func row(width: Int, isDark: (Int) -> Bool) -> [UInt8] {
        // Greyscale: 0 is black (§11.2.2), and the bits after the last pixel are of no meaning.
        var row = [UInt8](repeating: 0xff, count: (width + 7) / 8)
        for x in 0..<width where isDark(x) { row[x / 8] &= ~(0x80 >> UInt8(x % 8)) }
        return row
    }

    /// A file of these rows, each from ``row(width:isDark:)``.
    static func encode(width: Int, rows: [[UInt8]]) -> [UInt8] {
        // Depth 1, greyscale, deflate, the five filters, not interlaced.
        let header = bigEndian(UInt32(width)) + bigEndian(UInt32(rows.count)) + [1, 0, 0, 0, 0]
        var data: [UInt8] = []
        data.reserveCapacity(rows.reduce(0) { $0 + $1.count + 1 })
        var last: [UInt8] = []
        for row in rows {
            // The same row again is zeros under the filter "up" (§9.2): they make one run.
            data.append(row == last ? 2 : 0)
            data += row == last ? Array(repeating: 0, count: row.count) : row
            last = row
        }
        return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
            + chunk("IHDR", header) + chunk("IDAT", zlib(data)) + chunk("IEND", [])
    }

    /// §5.3.
    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + body + bigEndian(crc32(body))
    }

    /// RFC 1950 §2.2: a window of 32 KiB, no dictionary, the fastest algorithm.
    private static func zlib(_ data: [UInt8]) -> [UInt8] {
        var deflate = RunLengthDeflate()
        deflate.append(data)
        return [0x78, 0x01] + deflate.finish() + bigEndian(adler32(data))
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// RFC 1950 §9.
    static func adler32(_ data: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in data {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }

    /// Annex D: the polynomial of ISO 3309.
    static func crc32(_ data: [UInt8]) -> UInt32 {
        ~data.reduce(~0) { crcs[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }

    private static let crcs: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 1 ? 0xedb8_8320 ^ crc >> 1 : crc >> 1 }
    }
}

/// RFC 1951 with the fixed Huffman codes of §3.2.6, and of all matches only runs of one byte.
private struct RunLengthDeflate {
    private var bytes: [UInt8] = []
    private var bits: UInt64 = 0
    private var bitCount: UInt64 = 0

    init() {
        // The last block, fixed codes (§3.2.3).
        append(0b011, count: 3)
    }

    mutating func append(_ data: [UInt8]) {
        var index = 0
        while index < data.count {
            append(literal: Int(data[index]))
            var end = index + 1
            while end < data.count, data[end] == data[index] { end += 1 }
            var run = end - index - 1
            while run >= 3 {
                let length = min(run, 258)
                append(runOf: length)
                run -= length
            }
            // One or two that no match can have.
            for _ in 0..<run { append(literal: Int(data[index])) }
            index = end
        }
    }

    mutating func finish() -> [UInt8] {
        append(literal: 256)
        append(0, count: (8 - bitCount % 8) % 8)
        return bytes
    }

    /// A literal or the end of the block.
    private mutating func append(literal: Int) {
        switch literal {
        case ..<144: append(code: 0b0011_0000 + literal, count: 8)
        case ..<256: append(code: 0b1_1001_0000 + literal - 144, count: 9)
        case ..<280: append(code: literal - 256, count: 7)
        default: append(code: 0b1100_0000 + literal - 280, count: 8)
        }
    }

    /// A match at distance 1, 3...258 long (§3.2.5).
    private mutating func append(runOf length: Int) {
        let index = Self.lengths.lastIndex { $0.base <= length } ?? 0
        append(literal: 257 + index)
        append(UInt64(length - Self.lengths[index].base), count: UInt64(Self.lengths[index].extra))
        append(0, count: 5)
    }

    /// The lengths of the codes from 257 on, each with how many bits follow.
    private static let lengths: [(base: Int, extra: Int)] = {
        var lengths = (3...10).map { (base: $0, extra: 0) }
        for extra in 1...5 {
            for step in 0..<4 { lengths.append((base: (4 + step) << extra + 3, extra: extra)) }
        }
        // The longest has a code of its own; the one before it ends at 257.
        lengths.append((base: 258, extra: 0))
        return lengths
    }()

    /// Huffman codes go in with their highest bit first (§3.1.1).
    private mutating func append(code: Int, count: Int) {
        for shift in (0..<count).reversed() { append(UInt64(code >> shift & 1), count: 1) }
    }

    private mutating func append(_ value: UInt64, count: UInt64) {
        bits |= value << bitCount
        bitCount += count
        while bitCount >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            bitCount -= 8
        }
    }
}
