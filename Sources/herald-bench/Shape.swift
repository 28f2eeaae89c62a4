import ArgumentParser

/// How many connections and threads a sender has.
struct Shape: ExpressibleByArgument, Codable, Hashable, CustomStringConvertible {
    let connections: Int
    let threads: Int

    /// `4x2`: four connections, two threads.
    init?(argument: String) {
        let parts = argument.split(separator: "x")
        guard parts.count == 2, let connections = Int(parts[0]), let threads = Int(parts[1]),
            (1...64).contains(connections), (1...connections).contains(threads)
        else { return nil }
        self.connections = connections
        self.threads = threads
    }

    var description: String { "\(connections)x\(threads)" }
}

/// What one sender did in one run.
struct Run: Codable {
    let pushesPerSecond: Double
    /// User and system time of the process, from its start to its end.
    let microsecondsPerPush: Double
    let peakMiB: Double
    /// Bytes that left for the socket, TLS included.
    let bytesPerPush: Double
    var latency: Percentiles?

    /// The median of each figure by itself.
    static func median(of runs: [Run]) -> Run {
        func middle(_ value: (Run) -> Double) -> Double {
            let sorted = runs.map(value).sorted()
            return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
        }
        let latencies = runs.compactMap(\.latency)
        func middleLatency(_ value: (Percentiles) -> Double) -> Double {
            let sorted = latencies.map(value).sorted()
            return sorted[sorted.count / 2]
        }
        return Run(
            pushesPerSecond: middle(\.pushesPerSecond), microsecondsPerPush: middle(\.microsecondsPerPush),
            peakMiB: middle(\.peakMiB), bytesPerPush: middle(\.bytesPerPush),
            latency: latencies.isEmpty
                ? nil
                : Percentiles(
                    p50: middleLatency(\.p50), p90: middleLatency(\.p90), p99: middleLatency(\.p99),
                    maximum: middleLatency(\.maximum)))
    }
}

/// The two senders in one shape.
struct Comparison: Codable {
    let shape: String
    let engine: Run
    let h2load: Run
    /// Engine by h2load, medians of the ratios of the pairs.
    let rateRatio: Double
    let costRatio: Double
}
