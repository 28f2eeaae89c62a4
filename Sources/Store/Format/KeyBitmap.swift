/// Which recipients of a page are settled: a bit for each, in the order of their keys.
package struct KeyBitmap: Equatable {
    /// As it is stored.
    package private(set) var bytes: [UInt8]

    /// None of `count` is.
    package init(count: Int) {
        bytes = Array(repeating: 0, count: (count + 7) / 8)
    }

    /// Reads ``bytes``.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether the one at `index` is settled.
    package subscript(index: Int) -> Bool { bytes[index >> 3] & (1 << UInt8(index & 7)) != 0 }

    /// Settles the one at `index`.
    ///
    /// - Returns: whether it was not settled before.
    package mutating func settle(_ index: Int) -> Bool {
        let bit: UInt8 = 1 << UInt8(index & 7)
        guard bytes[index >> 3] & bit == 0 else { return false }
        bytes[index >> 3] |= bit
        return true
    }
}
