import ArgumentParser

/// `herald-bench idle`: a gateway that no one asks for anything.
struct IdleCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "idle", abstract: "What a gateway costs that has nothing to do.",
        discussion: """
            A gateway on SQLite and then one on PostgreSQL each get some seconds to come to rest, and then nothing for as \
            long as --seconds says: what they use of a core meanwhile, and how often the database is asked.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "The store: sqlite or postgresql; repeatable.") var store: [StoreKind] = StoreKind.allCases
    @Option(help: "Seconds that are measured.") var seconds = 60
    @Option(help: "Gateways that share the PostgreSQL database; figures are of all together.") var nodes = 1

    /// Until what a start does is over.
    private static let rest: Duration = .seconds(15)

    private struct Result: Encodable {
        let store: String
        let nodes: Int
        /// Of one core.
        let gatewayPercent: Double
        let databasePercent: Double
        /// Reads and writes; each read is one question.
        let transactionsPerSecond: Double
    }

    func validate() throws {
        guard (10...3600).contains(seconds) else { throw ValidationError("--seconds is 10 to 3600.") }
        guard (1...8).contains(nodes) else { throw ValidationError("--nodes is 1 to 8.") }
        guard nodes == 1 || store == [.postgresql] else {
            throw ValidationError("--nodes needs --store postgresql: gateways share no file.")
        }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let table = ResultTable(
            ["store", "gateway % of a core", "database % of a core", "transactions/s"], isJSON: options.json)
        var results: [Result] = []
        for store in store {
            let result = try await measure(store)
            table.add([
                result.store, figure(result.gatewayPercent, 2), figure(result.databasePercent, 2),
                figure(result.transactionsPerSecond, 1),
            ])
            results.append(result)
        }
        try table.end(results)
    }

    private func measure(_ store: StoreKind) async throws -> Result {
        let bench = try await GatewayBench(GatewayBench.Setup(sizes: [1000], store: store, nodes: nodes), options)
        let clock = ContinuousClock()
        // Nothing says that a gateway has come to rest.
        try await clock.sleep(for: Self.rest)
        let (before, transactions) = (try bench.processorTimes(), try bench.database?.transactions() ?? 0)
        let begin = clock.now
        // Time is what is measured.
        try await clock.sleep(for: .seconds(seconds))
        let (after, later) = (try bench.processorTimes(), try bench.database?.transactions() ?? 0)
        let time = (clock.now - begin).seconds
        return Result(
            store: store.name, nodes: nodes,
            gatewayPercent: (after.gateways - before.gateways).seconds / time * 100,
            databasePercent: (after.database - before.database).seconds / time * 100,
            transactionsPerSecond: Double(later - transactions) / time)
    }
}
