import Foundation

/// SplitMix64: the same seed, the same run, on every machine.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Begins the sequence of `seed`.
    package init(seed: UInt64) {
        state = seed
    }

    /// The next 64 bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// A generator of its own for part `index` of a run, so that concurrent parts do not share one.
    package func part(_ index: UInt64) -> SeededRandom {
        SeededRandom(seed: state ^ (index &+ 1) &* 0xD134_2543_DE82_EF95)
    }
}

/// A whole number that an environment variable gives a test, or `standard`.
package func testSetting(_ name: String, _ standard: UInt64) -> UInt64 {
    ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) ?? standard
}
