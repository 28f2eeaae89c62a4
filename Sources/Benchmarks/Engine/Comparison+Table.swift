import Foundation

extension Comparison {
    /// A run of each sender, one after the other.
    struct Pair {
        let engine: Run
        let h2load: Run
    }

    init(_ shape: Shape, _ pairs: [Pair], bound: Double?) {
        func median(_ value: (Run) -> Double) -> Double {
            let ratios = pairs.map { value($0.engine) / value($0.h2load) }.sorted()
            return ratios[ratios.count / 2]
        }
        func latency(_ value: @escaping (Percentiles) -> Double) -> Double {
            median { $0.latency.map(value) ?? .nan }
        }
        self.init(
            shape: shape.description, engine: Run.median(of: pairs.map(\.engine)),
            h2load: Run.median(of: pairs.map(\.h2load)), rateRatio: median(\.pushesPerSecond),
            costRatio: median(\.microsecondsPerPush),
            latencyRatio: Percentiles(
                mean: latency(\.mean), p50: latency(\.p50), p90: latency(\.p90), p99: latency(\.p99),
                maximum: latency(\.maximum)),
            sinkRatio: median(\.sinkMicrosecondsPerPush), bound: bound)
    }

    static let heading = line(
        "shape", "sender",
        ["pushes/s", "µs/push", "sink µs", "peak MiB", "bytes/push", "mean ms", "p50 ms", "p90 ms", "p99 ms"])

    /// How far from 1 the sink's work may be before the row says that it is not a fair one.
    private static let tolerance = 0.15

    /// The two senders and their ratio, a line each, and what only the engine has to tell.
    var row: String {
        let latencies = [latencyRatio.mean, latencyRatio.p50, latencyRatio.p90, latencyRatio.p99]
            .map { Self.text($0, 2) }
        let ratios = [
            Self.text(rateRatio, 2), Self.text(costRatio, 2), Self.text(sinkRatio, 2),
            Self.text(engine.peakMiB / h2load.peakMiB, 2), Self.text(engine.bytesPerPush / h2load.bytesPerPush, 2),
        ]
        var lines = [
            Self.line(shape, "engine", Self.figures(of: engine)), Self.line("", "h2load", Self.figures(of: h2load)),
            Self.line("", "ratio", ratios + latencies),
        ]
        if let figures = engine.engine {
            lines.append(
                "        engine: \(figures.connections) connections open at the end of \(figures.dials) dials, "
                    + "\(Self.text(figures.pushesPerWakeUp, 0)) pushes a wake-up, "
                    + "\(Self.text(figures.endsPerDelivery, 0)) ends a delivery, "
                    + "p50 \(Self.text(figures.wholeLatency.p50 / 1000, 2)) ms with the wait for a stream")
        }
        if let bound {
            lines.append(
                "        bound \(Self.text(bound, 0))/s: engine \(Self.text(engine.pushesPerSecond / bound, 3)), "
                    + "h2load \(Self.text(h2load.pushesPerSecond / bound, 3))")
        }
        if !sinkRatio.isFinite {
            lines.append("        the kernel does not tell the sink's processor time (schedstat)")
        } else if bound == nil, abs(sinkRatio - 1) > Self.tolerance {
            lines.append(
                "        UNFAIR: the sink spent \(Self.text(sinkRatio, 2)) times as much on the engine's pushes")
        }
        return lines.joined(separator: "\n")
    }

    private static func figures(of run: Run) -> [String] {
        let latency = run.latency.map { [$0.mean, $0.p50, $0.p90, $0.p99].map { text($0 / 1000, 2) } } ?? []
        return [
            text(run.pushesPerSecond, 0), text(run.microsecondsPerPush, 2), text(run.sinkMicrosecondsPerPush, 2),
            text(run.peakMiB, 1), text(run.bytesPerPush, 1),
        ] + latency
    }

    private static let widths = [10, 9, 9, 10, 12, 9, 8, 8, 8]

    private static func line(_ shape: String, _ sender: String, _ figures: [String]) -> String {
        let columns = zip(figures, widths).map { figure, width in
            String(repeating: " ", count: max(1, width + 1 - figure.count)) + figure
        }
        return shape.padding(toLength: 8, withPad: " ", startingAt: 0)
            + sender.padding(toLength: 7, withPad: " ", startingAt: 0) + columns.joined()
    }

    private static func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
