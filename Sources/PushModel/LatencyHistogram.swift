/// Latencies in milliseconds, counted in buckets that grow with the value: exact below 64 ms, within 3.2 % above.
///
/// Counts add up: histograms of shards, hours or nodes merge without loss. Each power of two is cut into 32 equal
/// buckets (the shape of HdrHistogram), so a handful of buckets holds the latencies of any number of deliveries.
package struct LatencyHistogram: Hashable, Sendable {
    /// Deliveries by bucket; no zeros.
    package private(set) var counts: [Int: Int]

    /// Takes counts by bucket; those that are not positive are left out.
    package init(counts: [Int: Int] = [:]) {
        self.counts = counts.filter { $0.value > 0 }
    }

    /// The bucket of a latency; negative latencies count as zero.
    package static func bucket(forMilliseconds milliseconds: Int64) -> Int {
        guard milliseconds >= 64 else { return Int(max(milliseconds, 0)) }
        let shift = 63 - milliseconds.leadingZeroBitCount - 5
        return shift * 32 + Int(milliseconds >> Int64(shift))
    }

    /// The largest latency that falls into `bucket`: what percentiles report, at most 3.2 % above the true value.
    package static func upperBoundMilliseconds(ofBucket bucket: Int) -> Int64 {
        guard bucket >= 64 else { return Int64(max(bucket, 0)) }
        let bucket = min(bucket, lastBucket)
        let shift = bucket / 32 - 1
        // The bound of the last bucket is Int64.max: the shift runs over and comes back.
        return Int64(bucket - shift * 32 + 1) &<< Int64(shift) &- 1
    }

    private static let lastBucket = bucket(forMilliseconds: .max)

    /// How many latencies were counted.
    package var total: Int { counts.values.reduce(0, +) }

    /// Counts a latency.
    package mutating func record(milliseconds: Int64) {
        counts[Self.bucket(forMilliseconds: milliseconds), default: 0] += 1
    }

    /// Adds the counts of another histogram.
    package mutating func merge(_ other: LatencyHistogram) {
        counts.merge(other.counts, uniquingKeysWith: +)
    }

    /// The latency that `p` percent (0 to 100) of the deliveries did not exceed; `nil` when there are none.
    package func percentile(_ p: Double) -> Int64? {
        let total = total
        guard total > 0 else { return nil }
        let share = min(max(p / 100, 0), 1) * Double(total)
        let below = min(Int(share), total)
        let rank = max(Double(below) < share ? below + 1 : below, 1)
        var reached = 0
        for (bucket, count) in counts.sorted(by: { $0.key < $1.key }) {
            reached += count
            if reached >= rank { return Self.upperBoundMilliseconds(ofBucket: bucket) }
        }
        return nil
    }
}
