/// A small generator of random numbers that gives the same sequence for the same seed on every machine (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// The `number`-th of any count of sequences that belong to `seed` and have nothing to do with each other.
    init(seed: UInt64, sequence number: Int) {
        state = Self.mixed(seed ^ Self.mixed(UInt64(truncatingIfNeeded: number) &* Self.step))
    }

    mutating func next() -> UInt64 {
        state &+= Self.step
        return Self.mixed(state)
    }

    /// A number from 0 up to, but not including, 1.
    mutating func unit() -> Double {
        Self.unit(next())
    }

    /// A number from 0 up to, but not including, 1 that depends on nothing but `seed` and `text`.
    static func unit(seed: UInt64, text: String) -> Double {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return unit(mixed(hash ^ mixed(seed &+ step)))
    }

    private static func unit(_ bits: UInt64) -> Double {
        Double(bits >> 11) * 0x1p-53
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}
