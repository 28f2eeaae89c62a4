import ArgumentParser
import Foundation
import PushModel
import Signing

/// `herald-bench broadcast`: a whole gateway beside h2load.
struct BroadcastCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "broadcast", abstract: "Compares broadcasts of a whole gateway with h2load.",
        discussion: """
            herald serve, the release binary beside this one, sends a message to a topic: accepted by HTTP, read from its \
            SQLite store, sent over HTTP/2, every delivery in the ledger, durable. h2load sends as many pushes of the same \
            size over as many connections to the same sink. The two take turns.

            With --platform android the devices are Android's and the sink answers as Google does, with 100 streams on each \
            connection, of which the gateway has four times --connections, and so has h2load. With --platform web they are \
            browsers at one origin, and the gateway is compared with encrypting as many messages of the same length, which is \
            no work of the sink.

            The first broadcast, to device tokens that were never accepted before, is shown by itself; then the gateway is \
            started again. With --sizes broadcasts of growing size are sent one after the other, to see whether the cost of \
            a push stays the same.

            With --store postgresql a gateway on PostgreSQL takes turns with one on SQLite instead of h2load, and with --nodes \
            several on one database and to one sink take turns with one.
            """)

    @OptionGroup var options: GatewayOptions
    @OptionGroup var stores: StoreOptions
    @Option(help: "Gateways that share the PostgreSQL database.") var nodes = 1
    @Option(help: "Whose devices: apple, android or web.") var platform = Platform.apple
    @Option(help: "Registered devices; several numbers are measured one after the other.")
    var devices = SizesArgument([100_000])
    @Option(help: "Connections to the sink; several numbers are measured one after the other.")
    var connections = SizesArgument([4])
    @Option(help: "Threads of the gateway's HTTP/2 engine, and of h2load.") var threads = 1
    @Option(help: "How long the sink waits with each answer, for example 20ms.") var delay = DelayArgument.zero
    @Option(help: "Pairs of runs.") var rounds = 3
    @Option(help: "Broadcasts of these sizes instead, without h2load.") var sizes: SizesArgument?

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard connections.values.allSatisfy({ (1...64).contains($0) }) else {
            throw ValidationError("--connections are 1 to 64.")
        }
        guard (1...64).contains(threads) else { throw ValidationError("--threads is 1 to 64.") }
        guard (1...8).contains(nodes) else { throw ValidationError("--nodes is 1 to 8.") }
        guard nodes == 1 || stores.store == .postgresql else {
            throw ValidationError("--nodes needs --store postgresql: gateways share no file.")
        }
    }

    func run() throws {
        try waiting {
            if let sizes {
                try await measure(sizes: sizes.values.sorted())
            } else if stores.store == .postgresql {
                try await compareStores()
            } else {
                try await compare()
            }
        }
    }

    private func setup(_ sizes: [Int], connections: Int) -> GatewayBench.Setup {
        GatewayBench.Setup(
            sizes: sizes, platforms: [platform], connections: connections, threads: threads, delay: delay.duration,
            store: stores.store, nodes: nodes)
    }

    // MARK: Beside another store

    private func compareStores() async throws {
        let table = ResultTable(Broadcast.titles, isJSON: options.json)
        var results: [StoreBroadcasts.Summary] = []
        for devices in devices.values {
            for connections in connections.values {
                let broadcasts = StoreBroadcasts(
                    setup: setup([devices], connections: connections), options: options, rounds: rounds,
                    devices: devices)
                results.append(try await broadcasts.measure(table))
            }
        }
        try table.end(results)
    }

    // MARK: Beside h2load

    private func compare() async throws {
        let table = ResultTable(BroadcastPair.titles, isJSON: options.json)
        var results: [BroadcastPair.Summary] = []
        for devices in devices.values {
            for connections in connections.values {
                let bench = try await GatewayBench(setup([devices], connections: connections), options)
                let (first, bodyBytes) = try await bench.prove(devices)
                table.add(first.cells("\(devices) first, \(connections)x\(threads)"))
                let shape = Shape(
                    connections: platform == .android ? 4 * connections : connections,
                    threads: min(threads, connections))
                let other = try other(beside: bench, shape, pushes: devices, bodyBytes: bodyBytes)
                var pairs: [BroadcastPair] = []
                for round in 0..<rounds {
                    let pair = try await pair(bench, devices, other, gatewayIsFirst: round.isMultiple(of: 2))
                    pairs.append(pair)
                }
                let summary = BroadcastPair.Summary(
                    shape: shape, otherName: platform == .web ? "encryption" : "h2load", first: first, pairs: pairs)
                for row in summary.rows { table.add(row) }
                table.note(summary.remark)
                results.append(summary)
            }
        }
        try table.end(results)
    }

    /// Who goes first takes turns.
    private func pair(
        _ bench: GatewayBench, _ devices: Int, _ other: () throws -> Run, gatewayIsFirst: Bool
    ) async throws -> BroadcastPair {
        func broadcast() async throws -> (Broadcast, sinkMicroseconds: Double) {
            let before = bench.sink.processorMicroseconds
            let broadcast = try await bench.broadcast(to: devices)
            return (broadcast, (bench.sink.processorMicroseconds - before) / Double(devices))
        }
        func load() throws -> Run {
            let before = bench.sink.processorMicroseconds
            var run = try other()
            run.sinkMicrosecondsPerPush = (bench.sink.processorMicroseconds - before) / Double(devices)
            return run
        }
        if gatewayIsFirst {
            let (broadcast, sink) = try await broadcast()
            return BroadcastPair(gateway: broadcast, gatewaySinkMicroseconds: sink, other: try load())
        }
        let run = try load()
        let (broadcast, sink) = try await broadcast()
        return BroadcastPair(gateway: broadcast, gatewaySinkMicroseconds: sink, other: run)
    }

    /// What the gateway is compared with.
    private func other(
        beside bench: GatewayBench, _ shape: Shape, pushes: Int, bodyBytes: Int
    ) throws -> () throws -> Run {
        if platform == .web {
            let bytes = bodyBytes - WebPushEncryptor.overhead
            return { try EncryptCommand.measured(messages: pushes, bytes: bytes, cores: options.senderCores) }
        }
        try bench.scratch.writeBody(bytes: bodyBytes)
        var h2load = try H2Load(
            bench.scratch, port: bench.sink.port, pushes: pushes, streams: 500, cores: options.senderCores)
        if platform == .android {
            h2load.streams = PlatformApp.googleStreams
            h2load.fields = PlatformApp.googleFields
            try bench.scratch.write([PlatformApp.googlePath], of: bench.sink)
        } else {
            try bench.scratch.writeAddresses(of: bench.sink, tokens: 20_000)
        }
        return { [h2load] in try h2load.run(shape) }
    }

    // MARK: Growing sizes

    private func measure(sizes: [Int]) async throws {
        let table = ResultTable(Broadcast.titles, isJSON: options.json)
        let connections = connections.values[0]
        let bench = try await GatewayBench(setup(sizes, connections: connections), options)
        let first = try await bench.prove(sizes.last ?? 0).first
        table.add(first.cells("\(first.devices) first"))
        var results = [first]
        for size in sizes {
            // Small ones several times: their cost is only noise otherwise.
            let times = max(1, min(rounds, 1_000_000 / size))
            var runs: [Broadcast] = []
            for _ in 0..<times { runs.append(try await bench.broadcast(to: size)) }
            let median = Broadcast.median(of: runs)
            table.add(median.cells(String(size)))
            results.append(median)
        }
        table.note("\(connections) connections; all sizes in one store with \(sizes.last ?? 0) registrations")
        try table.end(results)
    }
}

extension Platform: ExpressibleByArgument {}
