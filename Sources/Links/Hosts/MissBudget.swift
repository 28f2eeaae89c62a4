package import HTTPListener
import Synchronization

/// How many links that are not there one address may ask for: who tries suffixes finds few, and who typed one wrong is not
/// kept out.
///
/// A token bucket for each address that missed: with an empty one, short links are not looked up, so that a hit shows as
/// little as a miss.
package final class MissBudget: Sendable {
    private let configuredRate: Double
    private let nodes: @Sendable () -> Int
    /// Lock order: this one, then what ``nodes`` takes.
    private let buckets = Mutex<[ClientAddress: Bucket]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant
    /// As many addresses are kept in mind at most.
    static let addressLimit = 100_000

    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    /// Full buckets.
    ///
    /// - Parameters:
    ///   - rate: misses a second; a minute's worth may come at once. 0: any number.
    ///   - nodes: how many gateways share the rate, at least 1.
    ///   - now: the time, which never steps back.
    package init(
        rate: Int, nodes: @escaping @Sendable () -> Int = { 1 },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        configuredRate = Double(rate)
        self.nodes = nodes
        self.now = now
    }

    /// Misses a second, this gateway's part; 0: any number.
    var rate: Double { configuredRate / Double(nodes()) }

    private var burst: Double { max(1, rate * 60) }

    /// Seconds until an address may ask again; `nil`: it may now.
    package func wait(of address: ClientAddress) -> Int? {
        guard rate > 0 else { return nil }
        return buckets.withLock { buckets in
            guard let bucket = buckets[address] else { return nil }
            let tokens = tokens(in: bucket, at: now())
            return tokens >= 1 ? nil : max(1, Int(((1 - tokens) / rate).rounded(.up)))
        }
    }

    /// Whether no address has missed lately: then nothing has to be known of one.
    var isUntouched: Bool { buckets.withLock { $0.isEmpty } }

    /// Counts a miss.
    package func count(_ address: ClientAddress) {
        guard rate > 0 else { return }
        let time = now()
        buckets.withLock { buckets in
            if buckets.count >= Self.addressLimit, buckets[address] == nil { forget(&buckets, at: time) }
            let tokens = buckets[address].map { self.tokens(in: $0, at: time) } ?? burst
            buckets[address] = Bucket(tokens: max(0, tokens - 1), filledAt: time)
        }
    }

    private func tokens(in bucket: Bucket, at time: ContinuousClock.Instant) -> Double {
        min(burst, bucket.tokens + max(0, (time - bucket.filledAt) / .seconds(1)) * rate)
    }

    /// Makes room: full buckets are as good as none. When all are in use, all are forgotten.
    private func forget(_ buckets: inout [ClientAddress: Bucket], at time: ContinuousClock.Instant) {
        buckets = buckets.filter { tokens(in: $0.value, at: time) < burst }
        if buckets.count > Self.addressLimit / 2 { buckets = [:] }
    }
}
