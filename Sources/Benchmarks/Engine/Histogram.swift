/// Durations counted in steps of about 3 %, without keeping them.
struct Histogram {
    private static let steps = 32
    private var counts = [Int](repeating: 0, count: 44 * steps)
    private var total = 0
    private var largest: Int64 = 0
    private var sum: Int64 = 0

    /// Counts one.
    mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        add(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Counts one.
    mutating func add(nanoseconds: Int64) {
        let value = max(0, nanoseconds)
        counts[min(Self.index(of: value), counts.count - 1)] += 1
        total += 1
        largest = max(largest, value)
        sum += value
    }

    /// Below 32 each value by itself, then 32 equal steps between powers of two.
    private static func index(of value: Int64) -> Int {
        guard value >= 32 else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        return (exponent - 4) * steps + Int(value >> Int64(exponent - 5)) & (steps - 1)
    }

    /// The usual ones.
    var percentiles: Percentiles {
        Percentiles(
            mean: Double(sum) / Double(max(1, total)) / 1000, p50: at(0.50), p90: at(0.90), p99: at(0.99),
            maximum: Double(largest) / 1000)
    }

    /// In microseconds.
    private func at(_ share: Double) -> Double {
        let wanted = Int((Double(total) * share).rounded(.up))
        var seen = 0
        for (index, count) in counts.enumerated() {
            seen += count
            if seen >= wanted, count > 0 { return min(Self.upperEnd(of: index), Double(largest)) / 1000 }
        }
        return 0
    }

    private static func upperEnd(of index: Int) -> Double {
        guard index >= steps else { return Double(index + 1) }
        let exponent = index / steps + 4
        return Double(Int64(steps + index % steps + 1) << Int64(exponent - 5))
    }
}

/// In microseconds.
struct Percentiles: Codable {
    var mean = 0.0
    var p50 = 0.0
    var p90 = 0.0
    var p99 = 0.0
    var maximum = 0.0
}
