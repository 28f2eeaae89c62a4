import ArgumentParser
import Foundation

/// `herald-bench tracing`: what tracing costs, single sends and broadcasts, in pairs with and without it.
struct TracingCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "tracing", abstract: "Compares sends and broadcasts with tracing and without.",
        discussion: """
            Two gateways of the same binary stand beside each other, one of them with a collector. Each pair gives the same load \
            to both, one after the other, and the order changes with each pair: h2load with single messages over HTTP/2 with \
            TLS, and a broadcast. What is compared is processor time of the gateway's process for each message, deliveries \
            included, and for each push; the ratio is the median of the pairs.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Clients x streams.") var shape = LoadShape(argument: "64x16")!
    @Option(help: "The share of messages that are traced.") var sample = 0.01
    @Option(help: "Devices of a broadcast; 0: none.") var devices = 20_000
    @Option(help: "Pairs.") var pairs = 5
    @Option(help: "Seconds of each run of sends, after one to warm up.") var seconds = 5

    func validate() throws {
        guard (1...50).contains(pairs) else { throw ValidationError("--pairs is 1 to 50.") }
        guard (1...60).contains(seconds) else { throw ValidationError("--seconds is 1 to 60.") }
        guard (0...1).contains(sample) else { throw ValidationError("--sample is 0 to 1.") }
        guard (0...1_000_000).contains(devices) else { throw ValidationError("--devices is 0 to 1000000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private struct Result: Encodable {
        let load: String
        /// Processor time in microseconds for each message or push; medians.
        let microsecondsOff: Double
        let microsecondsOn: Double
        /// Of each pair, traced to not traced.
        let ratios: [Double]
        let ratio: Double
    }

    /// A gateway with what sends to it.
    private final class Side {
        let bench: GatewayBench
        let load: IngestLoad

        init(_ options: GatewayOptions, size: Int, tracing: GatewayFiles.Tracing?) async throws {
            var setup = GatewayBench.Setup(sizes: [size], isEncrypted: true)
            setup.tracing = tracing
            bench = try await GatewayBench(setup, options)
            load = try IngestLoad(bench.scratch, client: bench.client, token: bench.tokens[0], cores: options.sinkCores)
        }

        func microsecondsPerSend(_ shape: LoadShape, _ seconds: Int) throws -> Double {
            let before = try ProcessUsage(of: bench.process.id)
            let sends = try load.run(
                clients: shape.clients, streams: shape.streams, .seconds(seconds), isEncrypted: true)
            let after = try ProcessUsage(of: bench.process.id)
            // The warm-up is not counted among the requests, but the gateway worked for it.
            let messages = Double(sends.requests) * Double(seconds + 1) / Double(seconds)
            return (after.processor - before.processor).seconds * 1e6 / messages
        }
    }

    private func measure() async throws {
        let table = ResultTable(["load", "off µs", "on µs", "ratio", "of the pairs"], isJSON: options.json)
        let collector = try SilentCollector(cores: options.sinkCores)
        let size = max(devices, 1000)
        let off = try await Side(options, size: size, tracing: nil)
        let on = try await Side(
            options, size: size, tracing: GatewayFiles.Tracing(endpoint: collector.endpoint, sample: sample))
        var results = [
            try await compare("send \(shape)", off, on) { [shape, seconds] side in
                try side.microsecondsPerSend(shape, seconds)
            }
        ]
        table.add(Self.cells(results[0]))
        if devices > 0 {
            let broadcasts = try await compare("broadcast \(devices)", off, on) { side in
                try await side.bench.broadcast(to: size).microsecondsPerPush
            }
            table.add(Self.cells(broadcasts))
            results.append(broadcasts)
        }
        try table.end(results)
    }

    private func compare(
        _ load: String, _ off: Side, _ on: Side, _ measure: (Side) async throws -> Double
    ) async throws -> Result {
        // Not counted: caches fill, and the first device tokens are suspects.
        _ = try await (measure(off), measure(on))
        var costs: [(off: Double, on: Double)] = []
        for pair in 0..<pairs {
            let first = try await measure(pair % 2 == 0 ? off : on)
            let second = try await measure(pair % 2 == 0 ? on : off)
            costs.append(pair % 2 == 0 ? (first, second) : (second, first))
        }
        let ratios = costs.map { $0.on / $0.off }
        return Result(
            load: load, microsecondsOff: costs.map(\.off).median, microsecondsOn: costs.map(\.on).median,
            ratios: ratios,
            ratio: ratios.median)
    }

    private static func cells(_ result: Result) -> [String] {
        [
            result.load, figure(result.microsecondsOff, 1), figure(result.microsecondsOn, 1), figure(result.ratio, 3),
            result.ratios.map { figure($0, 3) }.joined(separator: " "),
        ]
    }
}
