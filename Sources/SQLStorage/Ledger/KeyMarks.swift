import PushModel
import Store

/// Which keys of a range were seen: one bit each, in chunks, since a range may have a few keys at its very ends only. One
/// before the base is at the end of the range before.
struct KeyMarks {
    /// 8 MB of bits, when all chunks are there.
    static let largestSpan: Int64 = 1 << 26

    /// Where range 0 begins.
    let base: Int64
    /// How many keys a range has.
    let span: Int64
    private let range: Int64
    private var chunks: [Int: [UInt64]] = [:]
    /// Keys of the range that were seen before.
    private(set) var repeated = 0
    /// Ranges of the keys that are not in this one.
    private(set) var further: Set<Int64> = []

    private static let emptyChunk = [UInt64](repeating: 0, count: 64)

    init(base: Int64, span: Int64, range: Int64 = 0) {
        self.base = base
        self.span = span
        self.range = range
    }

    mutating func add(_ key: Int64) {
        // Rounds down: a key before the base is in range -1.
        let distance = key - base
        let home = distance >= 0 ? distance / span : (distance - span + 1) / span
        guard home == range else {
            further.insert(home)
            return
        }
        let offset = Int(distance - range * span)
        let (chunk, place) = (offset / 4096, offset % 4096)
        let bit: UInt64 = 1 << UInt64(place % 64)
        if Self.mark(bit, in: &chunks[chunk, default: Self.emptyChunk][place / 64]) { repeated += 1 }
    }

    /// - Returns: whether it was marked before.
    private static func mark(_ bit: UInt64, in word: inout UInt64) -> Bool {
        defer { word |= bit }
        return word & bit != 0
    }

    /// Whether keys of the range lie between two keys.
    func overlaps(_ first: Int64, _ last: Int64) -> Bool {
        let start = base + range * span
        return last >= start && first < start + span
    }
}
