import Foundation

/// The engine, driven by ``SendCommand``.
struct Sender {
    let certificate: String
    let port: Int
    let pathPrefix: String
    var streams: Int
    let tokens: Int
    let cores: String

    /// The words that start it.
    func command(_ shape: Shape, pushes: Int, more: [String] = []) throws -> [String] {
        [
            try Program.own, "send-pushes", "--port", String(port), "--certificate", certificate, "--pushes",
            String(pushes), "--path-prefix", pathPrefix, "--connections", String(shape.connections), "--threads",
            String(shape.threads), "--streams", String(streams), "--tokens", String(tokens),
        ] + more
    }

    /// One run.
    func run(_ shape: Shape, pushes: Int) throws -> Run {
        let cost = try Program.measured(try command(shape, pushes: pushes), cores: cores)
        let report = try JSONDecoder().decode(SendReport.self, from: Data(cost.output.utf8))
        guard report.accepted == pushes else {
            throw BenchFailure("\(report.other) pushes were not accepted: \(report.failure ?? "no reason")")
        }
        return Run(
            pushesPerSecond: Double(pushes) / report.seconds,
            microsecondsPerPush: Double(cost.microseconds) / Double(pushes),
            peakMiB: Double(cost.peakKiB) / 1024, bytesPerPush: Double(report.bytesSent) / Double(pushes),
            latency: report.streamLatency, engine: report.figures)
    }
}
