import Foundation
import HTTP2Client

/// nghttp2's own load generator, sending the same pushes.
struct H2Load {
    let path: String
    let scratch: Scratch
    let port: Int
    var pushes: Int
    var streams: Int
    let cores: String
    /// What every request carries, each as `name: value`.
    var fields =
        ["apns-id: 01234567-89ab-4def-8123-456789abcdef"] + Push.sharedFields.map { "\($0.name): \($0.value)" }

    init(_ scratch: Scratch, port: Int, pushes: Int, streams: Int, cores: String) throws {
        path = try Program.find("h2load", package: "nghttp2-client")
        self.scratch = scratch
        self.port = port
        self.pushes = pushes
        self.streams = streams
        self.cores = cores
    }

    /// One run. The mean latency is h2load's own; percentiles need `log`: where to write a line for each request, which
    /// costs it a system call.
    func run(_ shape: Shape, log: String? = nil) throws -> Run {
        var command = [
            path, "-n", String(pushes), "-c", String(shape.connections), "-t", String(shape.threads), "-m",
            String(streams), "-i", scratch.addresses, "-d", scratch.body,
        ]
        for field in fields { command += ["-H", field] }
        if let log { command += ["--log-file=\(log)"] }
        let cost = try Program.measured(command, cores: cores)
        guard cost.output.contains("\(pushes) 2xx,"), let rate = Self.rate(in: cost.output) else {
            throw BenchFailure("h2load got other answers than 200:\n\(cost.output)")
        }
        return Run(
            pushesPerSecond: rate, microsecondsPerPush: Double(cost.microseconds) / Double(pushes),
            peakMiB: Double(cost.peakKiB) / 1024,
            bytesPerPush: Double(cost.bytesWritten - Int64(cost.output.utf8.count)) / Double(pushes),
            latency: try log.map { try Self.latencies($0) } ?? Self.meanLatency(in: cost.output), engine: nil)
    }

    /// `time for request:      150us     29.73ms      3.60ms      2.47ms    71.85%`: least, most, mean, …
    private static func meanLatency(in output: String) throws -> Percentiles {
        for line in output.split(separator: "\n") where line.hasPrefix("time for request:") {
            let fields = line.split(separator: " ").dropFirst(3).map(String.init)
            guard fields.count > 2, let mean = microseconds(fields[2]) else { break }
            return Percentiles(mean: mean, p50: .nan, p90: .nan, p99: .nan, maximum: .nan)
        }
        throw BenchFailure("h2load tells no times:\n\(output)")
    }

    private static func microseconds(_ text: String) -> Double? {
        for (unit, factor) in [("us", 1.0), ("ms", 1000.0), ("s", 1_000_000.0)] where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).map { $0 * factor }
        }
        return nil
    }

    /// `finished in 1.45s, 68880.34 req/s, 1.78MB/s`
    static func rate(in output: String) -> Double? {
        for line in output.split(separator: "\n") where line.hasPrefix("finished in") {
            for part in line.split(separator: ", ") where part.hasSuffix(" req/s") {
                return Double(part.dropLast(" req/s".count))
            }
        }
        return nil
    }

    /// Each line: start in microseconds, status, microseconds.
    static func latencies(_ file: String) throws -> Percentiles {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw BenchFailure("h2load wrote no log")
        }
        var histogram = Histogram()
        for line in [UInt8](data).split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: "\t"))
            guard fields.count == 3, let value = Int64(String(decoding: fields[2], as: UTF8.self)) else { continue }
            histogram.add(nanoseconds: value * 1000)
        }
        return histogram.percentiles
    }
}
