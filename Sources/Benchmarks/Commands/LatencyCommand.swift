import ArgumentParser
import Foundation

/// `herald-bench latency`: single sends while the gateway is idle, and during a broadcast.
struct LatencyCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "latency", abstract: "Measures single sends, idle and during a broadcast.",
        discussion: """
            From the moment the client sends the HTTP request until the sink answers the push. Probes go out at a steady \
            rate, whatever became of those before; their connection is kept open, and another one is opened only when a \
            probe would have to wait for an earlier one. During the second half a broadcast is under way all the time.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Devices of the broadcast.") var devices = 1_000_000
    @Option(help: "Connections to the sink.") var connections = 4
    @Option(help: "Probes, idle and again during the broadcast.") var probes = 500
    @Option(help: "Probes in a second.") var rate = 50
    @Option(help: "How long the sink waits with each answer; repeatable. By default 0ms and 50ms.")
    var delay: [DelayArgument] = []

    func validate() throws {
        guard (1...10_000_000).contains(devices) else { throw ValidationError("--devices is 1 to 10000000.") }
        guard (1...64).contains(connections) else { throw ValidationError("--connections is 1 to 64.") }
        guard (10...100_000).contains(probes) else { throw ValidationError("--probes is 10 to 100000.") }
        guard (1...1000).contains(rate) else { throw ValidationError("--rate is 1 to 1000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private struct Result: Encodable {
        let delayMilliseconds: Double
        /// In microseconds.
        let idle: Percentiles
        let duringBroadcast: Percentiles
        let p99Ratio: Double
        let broadcasts: Int
    }

    private func measure() async throws {
        let table = ResultTable(["sink, gateway", "p50 ms", "p90 ms", "p99 ms", "most ms"], isJSON: options.json)
        var results: [Result] = []
        let delays = delay.isEmpty ? ["0ms", "50ms"].compactMap(DelayArgument.init(argument:)) : delay
        for delay in delays.map(\.duration) {
            let bench = try await GatewayBench(
                GatewayBench.Setup(sizes: [devices], connections: connections, delay: delay), options)
            _ = try await bench.prove(devices)
            let result = try await measure(bench, delay)
            let name = "\(figure(result.delayMilliseconds, 0)) ms, "
            table.add(cells(name + "idle", result.idle))
            table.add(cells(name + "broadcast", result.duringBroadcast))
            table.add(["  ratio", "", "", figure(result.p99Ratio, 2), ""])
            results.append(result)
        }
        table.note("\(probes) probes at \(rate)/s, broadcasts to \(devices) devices, \(connections) connections")
        try table.end(results)
    }

    private func measure(_ bench: GatewayBench, _ delay: Duration) async throws -> Result {
        let prober = Prober(client: bench.client, sink: bench.sink, tokens: bench.tokens, rate: rate)
        // The first ones open connections and fill caches.
        _ = try await prober.run(rate)
        let idle = try await prober.run(probes)
        let broadcasts = BackgroundBroadcasts(client: bench.client, topic: Audience.topic(of: devices))
        try await broadcasts.begin()
        let busy = try await prober.run(probes)
        let count = try await broadcasts.end()
        return Result(
            delayMilliseconds: delay.seconds * 1000, idle: idle, duringBroadcast: busy, p99Ratio: busy.p99 / idle.p99,
            broadcasts: count)
    }

    private func cells(_ name: String, _ latency: Percentiles) -> [String] {
        [name] + [latency.p50, latency.p90, latency.p99, latency.maximum].map { figure($0 / 1000, 2) }
    }
}
