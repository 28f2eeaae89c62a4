/// The pause between dials that fail. A pure function of failures in a row and a random number:
///
/// | failures | pause, floor 1 s, ceiling 60 s |
/// |---|---|
/// | 1 | 1–2 s |
/// | 2 | 2–4 s |
/// | 3 | 4–8 s |
/// | 6 and more | 30–60 s |
package struct BackOff: Sendable {
    private let floor: Double
    private let ceiling: Double
    package private(set) var failures = 0

    /// No failure yet.
    package init(floor: Duration, ceiling: Duration) {
        self.floor = max(0, Double(floor.wholeNanoseconds))
        self.ceiling = max(self.floor, Double(ceiling.wholeNanoseconds))
    }

    /// Counts a failure and gives the pause after it in nanoseconds.
    package mutating func failed(using random: inout some RandomNumberGenerator) -> Int64 {
        failures += 1
        return pause(using: &random)
    }

    /// The pause after the failures so far, in nanoseconds.
    func pause(using random: inout some RandomNumberGenerator) -> Int64 {
        var longest = min(floor * 2, ceiling)
        for _ in 1..<max(2, min(failures, 64)) where failures > 1 { longest = min(longest * 2, ceiling) }
        // Half of it is left to chance, so that many senders do not come back at the same instant.
        let pause = max(floor, Double.random(in: (longest / 2)...longest, using: &random))
        return pause < 9e18 ? Int64(pause) : .max
    }

    /// Counts no more than `count` failures from now on.
    mutating func forget(downTo count: Int) {
        failures = min(failures, count)
    }

    /// A connection proved itself.
    package mutating func succeeded() {
        failures = 0
    }
}
