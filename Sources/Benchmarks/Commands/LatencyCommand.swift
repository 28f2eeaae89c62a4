import ArgumentParser
import Foundation
import PushModel

/// `herald-bench latency`: single sends while the gateway is idle, during a broadcast, and beside batches.
struct LatencyCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "Measures single sends: idle, during a broadcast, beside batches or a service that hangs.",
        discussion: """
            From the moment the client sends the HTTP request until the sink answers the push. Probes go out at a steady \
            rate, whatever became of those before; their connection is kept open, and another one is opened only when a \
            probe would have to wait for an earlier one. During the second third a broadcast is under way all the time, \
            during the last one many callers send batches of messages. With --hanging-service a broadcast to that platform is \
            under way in place of both, whose push service took the first pushes and answers no more: its process is \
            stopped with its connections open.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Devices of the broadcast.") var devices = 1_000_000
    @Option(help: "Connections to the sink.") var connections = 4
    @Option(help: "Probes, idle, during the broadcast, and beside the batches.") var probes = 500
    @Option(help: "Probes in a second.") var rate = 50
    @Option(help: "Callers that send batches.") var batchCallers = 64
    @Option(help: "Messages of a batch.") var batchSize = 500
    @Option(help: "The platform whose push service hangs beside Apple's singles: android or web.")
    var hangingService: HangingService?
    @Option(help: "How long the sink waits with each answer; repeatable. By default 0ms and 50ms.")
    var delay: [DelayArgument] = []

    func validate() throws {
        guard (1...10_000_000).contains(devices) else { throw ValidationError("--devices is 1 to 10000000.") }
        guard (1...64).contains(connections) else { throw ValidationError("--connections is 1 to 64.") }
        guard (10...100_000).contains(probes) else { throw ValidationError("--probes is 10 to 100000.") }
        guard (1...256).contains(batchCallers) else { throw ValidationError("--batch-callers is 1 to 256.") }
        guard (1...10_000).contains(batchSize) else { throw ValidationError("--batch-size is 1 to 10000.") }
        guard (1...1000).contains(rate) else { throw ValidationError("--rate is 1 to 1000.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    /// A platform beside Apple's.
    enum HangingService: String, CaseIterable, ExpressibleByArgument {
        case android, web

        var platform: Platform {
            switch self {
            case .android: .android
            case .web: .web
            }
        }
    }

    private struct HangingResult: Encodable {
        let service: String
        let delayMilliseconds: Double
        /// In microseconds.
        let idle: Percentiles
        let besideHangingService: Percentiles
        /// Pushes to the service that had no answer when the probes were over.
        let unanswered: Int
    }

    private struct Result: Encodable {
        let delayMilliseconds: Double
        /// In microseconds.
        let idle: Percentiles
        let duringBroadcast: Percentiles
        let besideBatches: Percentiles
        let broadcasts: Int
        /// Messages of batches in a second.
        let batchRate: Double
    }

    private func measure() async throws {
        let table = ResultTable(["sink, gateway", "p50 ms", "p90 ms", "p99 ms", "most ms"], isJSON: options.json)
        if let hangingService { return try await measure(beside: hangingService, table) }
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
            table.add(ratios(result.duringBroadcast, result.idle))
            table.add(cells(name + "batches", result.besideBatches))
            table.add(ratios(result.besideBatches, result.idle))
            table.note("\(figure(result.batchRate, 0)) messages of batches in a second")
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
        let batches = BackgroundBatches(
            client: bench.client, tokens: bench.tokens, size: batchSize, callers: batchCallers)
        let start = ContinuousClock.now
        try await batches.begin()
        let crowded = try await prober.run(probes)
        let messages = try await batches.end()
        return Result(
            delayMilliseconds: delay.seconds * 1000, idle: idle, duringBroadcast: busy, besideBatches: crowded,
            broadcasts: count, batchRate: Double(messages) / (ContinuousClock.now - start).seconds)
    }

    private func measure(beside service: HangingService, _ table: ResultTable) async throws {
        var results: [HangingResult] = []
        let delays = delay.isEmpty ? ["0ms", "50ms"].compactMap(DelayArgument.init(argument:)) : delay
        for delay in delays.map(\.duration) {
            let bench = try await GatewayBench(
                GatewayBench.Setup(
                    sizes: [devices], platforms: [.apple, service.platform], connections: connections, delay: delay),
                options)
            _ = try await bench.prove(devices)
            let result = try await measure(bench, beside: service, delay)
            let name = "\(figure(result.delayMilliseconds, 0)) ms, "
            table.add(cells(name + "idle", result.idle))
            table.add(cells(name + "\(service.rawValue) hangs", result.besideHangingService))
            table.add(ratios(result.besideHangingService, result.idle))
            results.append(result)
        }
        table.note(
            "\(probes) probes to Apple's devices at \(rate)/s beside a broadcast to \(devices) of \(service.rawValue), "
                + "whose service does not answer, \(connections) connections")
        try table.end(results)
    }

    private func measure(
        _ bench: GatewayBench, beside service: HangingService, _ delay: Duration
    ) async throws -> HangingResult {
        guard let sink = bench.sinks[service.platform] else { throw BenchFailure("there is no such sink") }
        let prober = Prober(client: bench.client, sink: bench.sink, tokens: bench.tokens, rate: rate)
        // Connections are open, and the service answers still.
        _ = try await bench.broadcast(to: devices, on: service.platform)
        _ = try await prober.run(rate)
        let idle = try await prober.run(probes)
        sink.program.freeze()
        defer { sink.program.thaw() }
        let topic = Audience.topic(of: devices, on: service.platform)
        let name = try await bench.client.send(BroadcastMessage.text(to: topic))
        _ = try await prober.run(rate)
        let beside = try await prober.run(probes)
        let report = try await bench.client.report(name)
        guard report.ledger.accepted < devices else { throw BenchFailure("the service answered all the same") }
        return HangingResult(
            service: service.rawValue, delayMilliseconds: delay.seconds * 1000, idle: idle,
            besideHangingService: beside, unanswered: devices - report.ledger.accepted)
    }

    private func ratios(_ latency: Percentiles, _ idle: Percentiles) -> [String] {
        ["  ratio", figure(latency.p50 / idle.p50, 2), "", figure(latency.p99 / idle.p99, 2), ""]
    }

    private func cells(_ name: String, _ latency: Percentiles) -> [String] {
        [name] + [latency.p50, latency.p90, latency.p99, latency.maximum].map { figure($0 / 1000, 2) }
    }
}
