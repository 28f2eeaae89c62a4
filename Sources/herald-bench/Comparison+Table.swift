import Foundation

extension Comparison {
    init(_ shape: Shape, _ ours: [Run], _ theirs: [Run], reference: Run) {
        func median(_ value: (Run) -> Double) -> Double {
            let ratios = zip(ours, theirs).map { value($0) / value($1) }.sorted()
            return ratios[ratios.count / 2]
        }
        self.init(
            shape: shape.description, engine: Run.median(of: ours), h2load: reference,
            rateRatio: median(\.pushesPerSecond), costRatio: median(\.microsecondsPerPush))
    }

    static let heading = """
        shape   sender   pushes/s   µs/push   peak MiB   bytes/push   p50 ms   p90 ms   p99 ms
        """

    /// The two senders and their ratio, a line each.
    var row: String {
        let ratio = Self.line(
            "", "ratio", String(format: "%.2f", rateRatio), String(format: "%.2f", costRatio),
            Self.text(engine.peakMiB / h2load.peakMiB, 2), Self.text(engine.bytesPerPush / h2load.bytesPerPush, 2), [])
        return [Self.line(shape, "engine", engine), Self.line(shape, "h2load", h2load), ratio].joined(separator: "\n")
    }

    private static func line(_ shape: String, _ sender: String, _ run: Run) -> String {
        let latency = run.latency.map { [$0.p50, $0.p90, $0.p99].map { text($0 / 1000, 2) } } ?? []
        return line(
            shape, sender, text(run.pushesPerSecond, 0), text(run.microsecondsPerPush, 2), text(run.peakMiB, 1),
            text(run.bytesPerPush, 1), latency)
    }

    private static func line(
        _ shape: String, _ sender: String, _ rate: String, _ cost: String, _ peak: String, _ bytes: String,
        _ latency: [String]
    ) -> String {
        let columns: [(String, Int)] =
            [(rate, 10), (cost, 9), (peak, 10), (bytes, 12)] + latency.map { ($0, 8) }
        let figures = columns.map { String(repeating: " ", count: max(1, $0.1 + 1 - $0.0.count)) + $0.0 }
        return shape.padding(toLength: 8, withPad: " ", startingAt: 0)
            + sender.padding(toLength: 7, withPad: " ", startingAt: 0) + figures.joined(separator: " ")
    }

    private static func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
