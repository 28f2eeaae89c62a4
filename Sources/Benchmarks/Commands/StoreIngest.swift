/// Durable single sends to a gateway on PostgreSQL, beside one on SQLite and clients of libpq that insert a row each.
struct StoreIngest {
    let options: GatewayOptions
    let shapes: [LoadShape]
    let rounds: Int
    /// Of each run, after one to warm up.
    let seconds: Int

    /// More clients of libpq than this have a connection each to no use.
    private static let insertClients = 64

    struct Result: Encodable {
        let shape: String
        let gatewayPerSecond: Double
        let sqlitePerSecond: Double
        let insertPerSecond: Double
        /// Of the gateways' rates, in each round; the median.
        let ratio: Double
        /// In microseconds.
        let gatewayLatency: Percentiles
        let insertLatency: Percentiles
        /// Of the 99th percentiles, in each round; the median.
        let latencyRatio: Double
        /// Processor time for each message accepted, deliveries included.
        let microsecondsPerMessage: Double
        let databaseMicrosecondsPerMessage: Double
    }

    func measure() async throws {
        let table = ResultTable(
            [
                "clients x streams", "sends/s", "SQLite/s", "ratio", "p50 ms", "p99 ms", "insert/s", "ins. p50",
                "ins. p99", "p99 ratio", "µs/send", "database",
            ], isJSON: options.json)
        let other = try await GatewayBench(GatewayBench.Setup(sizes: [1000], isEncrypted: true), options)
        let bench = try await GatewayBench(
            GatewayBench.Setup(sizes: [1000], isEncrypted: true, store: .postgresql), options)
        guard let database = bench.database else { throw BenchFailure("there is no database") }
        let (load, otherLoad) = (try ingest(bench), try ingest(other))
        var results: [Result] = []
        for shape in shapes {
            let all = try (0..<rounds).map { _ in try round(shape, bench, database, load, otherLoad) }
            let result = Self.median(of: all)
            table.add(Self.cells(result))
            results.append(result)
        }
        try table.end(results)
    }

    private func ingest(_ bench: GatewayBench) throws -> IngestLoad {
        try IngestLoad(bench.scratch, client: bench.client, token: bench.tokens[0], cores: options.sinkCores)
    }

    private func round(
        _ shape: LoadShape, _ bench: GatewayBench, _ database: PostgreSQLServer, _ load: IngestLoad, _ other: IngestLoad
    ) throws -> Result {
        let before = (try ProcessUsage(of: bench.process.id).processor, try database.processorTime())
        let sends = try run(load, shape)
        let after = (try ProcessUsage(of: bench.process.id).processor, try database.processorTime())
        // The warm-up is not counted among the requests, but there was work for it.
        let requests = Double(sends.requests) * Double(seconds + 1) / Double(seconds)
        let inserts = try database.insertRows(
            clients: min(shape.clients * shape.streams, Self.insertClients), seconds: seconds,
            cores: options.sinkCores)
        let sqlite = try run(other, shape)
        return Result(
            shape: shape.description, gatewayPerSecond: sends.requestsPerSecond,
            sqlitePerSecond: sqlite.requestsPerSecond, insertPerSecond: inserts.perSecond,
            ratio: sends.requestsPerSecond / sqlite.requestsPerSecond, gatewayLatency: sends.latency,
            insertLatency: inserts.latency, latencyRatio: sends.latency.p99 / inserts.latency.p99,
            microsecondsPerMessage: (after.0 - before.0).seconds * 1e6 / requests,
            databaseMicrosecondsPerMessage: (after.1 - before.1).seconds * 1e6 / requests)
    }

    private func run(_ load: IngestLoad, _ shape: LoadShape) throws -> IngestLoad.Result {
        try load.run(clients: shape.clients, streams: shape.streams, .seconds(seconds), isEncrypted: true)
    }

    private static func median(of rounds: [Result]) -> Result {
        func middle(_ value: (Result) -> Double) -> Double { rounds.map(value).median }
        let typical = rounds.sorted { $0.ratio < $1.ratio }[rounds.count / 2]
        return Result(
            shape: typical.shape, gatewayPerSecond: middle(\.gatewayPerSecond),
            sqlitePerSecond: middle(\.sqlitePerSecond), insertPerSecond: middle(\.insertPerSecond),
            ratio: middle(\.ratio), gatewayLatency: typical.gatewayLatency, insertLatency: typical.insertLatency,
            latencyRatio: middle(\.latencyRatio), microsecondsPerMessage: middle(\.microsecondsPerMessage),
            databaseMicrosecondsPerMessage: middle(\.databaseMicrosecondsPerMessage))
    }

    private static func cells(_ result: Result) -> [String] {
        [
            result.shape, figure(result.gatewayPerSecond, 0), figure(result.sqlitePerSecond, 0),
            figure(result.ratio, 2), figure(result.gatewayLatency.p50 / 1000, 2),
            figure(result.gatewayLatency.p99 / 1000, 2), figure(result.insertPerSecond, 0),
            figure(result.insertLatency.p50 / 1000, 2), figure(result.insertLatency.p99 / 1000, 2),
            figure(result.latencyRatio, 2), figure(result.microsecondsPerMessage, 1),
            figure(result.databaseMicrosecondsPerMessage, 1),
        ]
    }
}
