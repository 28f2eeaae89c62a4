import ArgumentParser
import Foundation

/// `herald-bench ingest`: durable single sends beside a server that does nothing and a database that does nothing else.
struct IngestCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "ingest", abstract: "Compares durable single sends with a bare server and a bare database.",
        discussion: """
            h2load sends single messages over HTTP/2 with TLS to the whole gateway, which commits each to the disk before it \
            answers and delivers it to the sink meanwhile. The same load goes to the same HTTP server answering without work \
            ("echo"), and beside both stands what SQLite inserts when as many rows as requests are under way share a commit \
            ("insert"). The ratio is to the lower of the two. A shape is clients x requests under way for each.

            With --store postgresql a gateway on PostgreSQL takes turns with one on SQLite, and with clients of libpq (pgbench)             that insert a row in a transaction of its own: as many as requests are under way, at most 64.
            """)

    @OptionGroup var options: GatewayOptions
    @OptionGroup var stores: StoreOptions
    @Option(help: "Clients x streams; repeatable. By default 1x1, 8x1, 64x1 and 64x16.") var shape: [LoadShape] = []
    @Option(help: "Rounds of each.") var rounds = 3
    @Option(help: "Seconds of each run, after one to warm up.") var seconds = 5

    func validate() throws {
        guard (1...20).contains(rounds) else { throw ValidationError("--rounds is 1 to 20.") }
        guard (1...60).contains(seconds) else { throw ValidationError("--seconds is 1 to 60.") }
    }

    func run() throws {
        let shapes = shape.isEmpty ? LoadShape.usual : shape
        try waiting {
            guard stores.store == .postgresql else { return try await measure(shapes) }
            try await StoreIngest(options: options, shapes: shapes, rounds: rounds, seconds: seconds).measure()
        }
    }

    private struct Result: Encodable {
        let shape: String
        let gatewayPerSecond: Double
        let echoPerSecond: Double
        let insertPerSecond: Double
        /// To the lower of the two, in each round; the median.
        let ratio: Double
        /// In microseconds.
        let gatewayLatency: Percentiles
        let echoLatency: Percentiles
        /// Processor time of the gateway for each message accepted, deliveries included.
        let microsecondsPerMessage: Double
        /// Processor time of the bare server for each request.
        let microsecondsPerEcho: Double
        /// Of these two, in each round; the median.
        let processorRatio: Double
    }

    private func measure(_ shapes: [LoadShape]) async throws {
        let table = ResultTable(
            [
                "clients x streams", "sends/s", "echo/s", "insert/s", "ratio", "p50 ms", "p99 ms", "echo p50",
                "echo p99", "µs/send", "µs/echo", "µs ratio",
            ], isJSON: options.json)
        let bench = try await GatewayBench(GatewayBench.Setup(sizes: [1000], isEncrypted: true), options)
        let echo = try EchoServer(bench.scratch, cores: options.senderCores)
        let token = bench.tokens[0]
        let gateway = try IngestLoad(bench.scratch, client: bench.client, token: token, cores: options.sinkCores)
        let bare = try IngestLoad(
            bench.scratch, address: "https://127.0.0.1:\(echo.port)/echo", key: bench.client.key, token: token,
            cores: options.sinkCores)
        var results: [Result] = []
        for shape in shapes {
            let rounds = try (0..<rounds).map { _ in try round(shape, bench, echo, gateway, bare) }
            let result = Self.median(of: rounds, shape)
            table.add(Self.cells(result))
            results.append(result)
        }
        try table.end(results)
    }

    private func round(
        _ shape: LoadShape, _ bench: GatewayBench, _ echo: EchoServer, _ gateway: IngestLoad, _ bare: IngestLoad
    ) throws -> Result {
        let (sends, perSend) = try run(gateway, shape, of: bench.process.id)
        let (echoes, perEcho) = try run(bare, shape, of: echo.id)
        let inserts = try BareInsert.rowsPerSecond(
            batch: shape.clients * shape.streams, seconds: 2, in: options.directory, cores: options.senderCores)
        return Result(
            shape: shape.description, gatewayPerSecond: sends.requestsPerSecond,
            echoPerSecond: echoes.requestsPerSecond, insertPerSecond: inserts,
            ratio: sends.requestsPerSecond / min(echoes.requestsPerSecond, inserts), gatewayLatency: sends.latency,
            echoLatency: echoes.latency, microsecondsPerMessage: perSend, microsecondsPerEcho: perEcho,
            processorRatio: perSend / perEcho)
    }

    /// Runs a load on a process.
    ///
    /// - Returns: what it gave, and the microseconds of processor time that the process took for a request.
    private func run(
        _ load: IngestLoad, _ shape: LoadShape, of process: Int32
    ) throws -> (result: IngestLoad.Result, microseconds: Double) {
        let before = try ProcessUsage(of: process)
        let result = try load.run(
            clients: shape.clients, streams: shape.streams, .seconds(seconds), isEncrypted: true)
        let after = try ProcessUsage(of: process)
        // The warm-up is not counted among the requests, but the process worked for it.
        let requests = Double(result.requests) * Double(seconds + 1) / Double(seconds)
        return (result, (after.processor - before.processor).seconds * 1e6 / requests)
    }

    private static func median(of rounds: [Result], _ shape: LoadShape) -> Result {
        func middle(_ value: (Result) -> Double) -> Double { rounds.map(value).median }
        let typical = rounds.sorted { $0.ratio < $1.ratio }[rounds.count / 2]
        return Result(
            shape: shape.description, gatewayPerSecond: middle(\.gatewayPerSecond),
            echoPerSecond: middle(\.echoPerSecond), insertPerSecond: middle(\.insertPerSecond), ratio: middle(\.ratio),
            gatewayLatency: typical.gatewayLatency, echoLatency: typical.echoLatency,
            microsecondsPerMessage: middle(\.microsecondsPerMessage),
            microsecondsPerEcho: middle(\.microsecondsPerEcho), processorRatio: middle(\.processorRatio))
    }

    private static func cells(_ result: Result) -> [String] {
        let latencies = [
            result.gatewayLatency.p50, result.gatewayLatency.p99, result.echoLatency.p50, result.echoLatency.p99,
        ]
        return [
            result.shape, figure(result.gatewayPerSecond, 0), figure(result.echoPerSecond, 0),
            figure(result.insertPerSecond, 0), figure(result.ratio, 2),
        ] + latencies.map { figure($0 / 1000, 2) } + [
            figure(result.microsecondsPerMessage, 1), figure(result.microsecondsPerEcho, 1),
            figure(result.processorRatio, 2),
        ]
    }
}

/// How many clients there are, and how many requests each has under way.
struct LoadShape: ExpressibleByArgument, CustomStringConvertible, Sendable {
    let clients: Int
    let streams: Int

    static let usual = ["1x1", "8x1", "64x1", "64x16"].compactMap(LoadShape.init(argument:))

    /// `64x16`. An HTTP/2 connection of Hummingbird has a hundred streams at most.
    init?(argument: String) {
        let parts = argument.split(separator: "x")
        guard parts.count == 2, let clients = Int(parts[0]), let streams = Int(parts[1]),
            (1...1000).contains(clients), (1...100).contains(streams)
        else { return nil }
        self.clients = clients
        self.streams = streams
    }

    var description: String { "\(clients)x\(streams)" }
}

/// ``EchoCommand`` in a process of its own.
final class EchoServer {
    let port: Int
    private let program: Program

    init(_ scratch: Scratch, cores: String) throws {
        program = try Program(
            try Program.find("taskset", package: "util-linux"),
            [
                "-c", cores, try Program.own, "echo", "--certificate", scratch.certificate, "--key", scratch.key,
            ], showsErrors: true)
        guard let port = Int(program.readLine()) else { throw BenchFailure("the echo server did not start") }
        self.port = port
    }

    /// Its process.
    var id: Int32 { program.id }

    deinit { program.end() }
}
