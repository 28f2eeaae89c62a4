import ArgumentParser

/// How many connections and threads a sender has.
struct Shape: ExpressibleByArgument, Codable, Hashable, CustomStringConvertible {
    let connections: Int
    let threads: Int

    init(connections: Int, threads: Int) {
        self.connections = connections
        self.threads = threads
    }

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
    /// From a stream's HEADERS to the end of its answer, of a run in which little waits.
    var latency: Percentiles?
    let engine: EngineFigures?
    /// Processor time of the sink meanwhile.
    var sinkMicrosecondsPerPush = 0.0

    /// The median of each figure by itself; the engine's own figures are those of the run with the median rate.
    static func median(of runs: [Run]) -> Run {
        func middle(_ value: (Run) -> Double) -> Double {
            let sorted = runs.map(value).sorted()
            return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
        }
        let middleRun = runs.sorted { $0.pushesPerSecond < $1.pushesPerSecond }[runs.count / 2]
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
                    mean: middleLatency(\.mean), p50: middleLatency(\.p50), p90: middleLatency(\.p90),
                    p99: middleLatency(\.p99), maximum: middleLatency(\.maximum)),
            engine: middleRun.engine, sinkMicrosecondsPerPush: middle(\.sinkMicrosecondsPerPush))
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
    let latencyRatio: Percentiles
    /// What the sink spent on a push of the engine by what it spent on one of h2load. Far from 1, the sink did not do the
    /// same work for both, and the rates do not compare.
    let sinkRatio: Double
    /// Streams of all connections by the sink's delay: no sender can do more in a second. `nil` without a delay.
    let bound: Double?
}
