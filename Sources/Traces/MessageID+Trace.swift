package import PushModel

// Whether a message is traced, and which trace it has, follow from its id. So nothing about it is kept or handed on: what
// claims, sends or settles a message knows it, after a restart too.
extension MessageID {
    /// What the ids of traced messages end in: digits of both forms of ids.
    private static let mark = Array("777".utf8)

    /// Whether its steps are recorded.
    package var isTraced: Bool {
        let text = rawValue.utf8
        return text.count > Self.mark.count && text.suffix(Self.mark.count).elementsEqual(Self.mark)
    }

    /// The context of the span of its accept, to which those of later steps link.
    package var acceptContext: SpanContext {
        var hash = FNV()
        hash.add(rawValue.utf8)
        // Three numbers of one hash: as different as random ones, and the same in every version. None of them is zero.
        var mix = SplitMix(state: hash.value)
        let trace = TraceID(high: max(1, mix.next()), low: mix.next())!
        return SpanContext(traceID: trace, spanID: SpanID(rawValue: max(1, mix.next()))!, isSampled: true)
    }
}

/// The random part of a message's id that says whether the message is traced.
package enum TraceMark {
    /// What three decimal digits leave room for.
    private static let decimals: UInt64 = 1000
    /// What three hexadecimal digits leave room for.
    private static let digits: UInt64 = 0x1000

    /// Changes the random part of an id so that the id has the mark or lacks it.
    ///
    /// - Parameter isNumbered: whether the id is to be a number (``MessageID/init(number:)``).
    package static func marked(_ random: UInt64, isTraced: Bool, isNumbered: Bool) -> UInt64 {
        let (range, mark): (UInt64, UInt64) = isNumbered ? (decimals, 777) : (digits, 0x777)
        let last = random % range
        guard (last == mark) != isTraced else { return random }
        // Below the largest number, so that nothing overflows.
        let first = min(random - last, UInt64.max - range - UInt64.max % range)
        return first + (isTraced ? mark : mark + 1)
    }
}

/// The hash of Fowler, Noll and Vo (FNV-1a), 64 bits.
private struct FNV {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: String.UTF8View) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
}

/// Steele, Lea and Flood's SplitMix64: numbers that follow from a first one.
private struct SplitMix {
    private var state: UInt64

    init(state: UInt64) {
        self.state = state
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
