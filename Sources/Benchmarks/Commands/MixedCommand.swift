import ArgumentParser
import PushModel

/// `herald-bench mixed`: one broadcast to three platforms beside one to each.
struct MixedCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "mixed", abstract: "Compares a broadcast to all platforms with one to each.",
        discussion: """
            As broadcast does it, with as many devices on each platform and a sink for each. What a broadcast to all costs \
            stands beside the sum of those to one; and how long it takes until the last push to an Apple device is at the \
            sink, beside a broadcast to these alone.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Registered devices of each platform.") var devices = 100_000
    @Option(help: "Connections to a sink; to that of Android four times as many.") var connections = 4
    @Option(help: "Threads of each of the gateway's HTTP/2 engines.") var threads = 1
    @Option(help: "Rounds.") var rounds = 3

    func validate() throws {
        guard (1...10_000_000).contains(devices) else { throw ValidationError("--devices is 1 to 10000000.") }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (1...64).contains(connections) else { throw ValidationError("--connections is 1 to 64.") }
        guard (1...64).contains(threads) else { throw ValidationError("--threads is 1 to 64.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private struct Round {
        var alone: [Platform: Broadcast] = [:]
        var mixed: Broadcast

        /// Processor time of the three alone, in microseconds for each push.
        var sum: Double { alone.values.reduce(0) { $0 + $1.microsecondsPerPush } / Double(alone.count) }
        var costRatio: Double { mixed.microsecondsPerPush / sum }
        var appleRatio: Double { mixed.secondsToLastPush / (alone[.apple]?.secondsToLastPush ?? .nan) }
    }

    private struct Result: Encodable {
        let apple: Broadcast
        let android: Broadcast
        let web: Broadcast
        let mixed: Broadcast
        let costRatio: Double
        let appleRatio: Double
    }

    private func measure() async throws {
        let platforms: [Platform] = [.apple, .android, .web]
        let bench = try await GatewayBench(
            GatewayBench.Setup(
                sizes: [devices], platforms: platforms, connections: connections, threads: threads), options)
        _ = try await bench.prove(devices)
        var rounds: [Round] = []
        for number in 0..<self.rounds {
            // Who goes first takes turns.
            let isMixedFirst = !number.isMultiple(of: 2)
            let before = isMixedFirst ? try await bench.broadcast(to: devices) : nil
            var alone: [Platform: Broadcast] = [:]
            for platform in platforms { alone[platform] = try await bench.broadcast(to: devices, on: platform) }
            let mixed = if let before { before } else { try await bench.broadcast(to: devices) }
            rounds.append(Round(alone: alone, mixed: mixed))
        }
        func median(_ platform: Platform) -> Broadcast {
            Broadcast.median(of: rounds.compactMap { $0.alone[platform] })
        }
        let result = Result(
            apple: median(.apple), android: median(.android), web: median(.web),
            mixed: Broadcast.median(of: rounds.map(\.mixed)), costRatio: rounds.map(\.costRatio).median,
            appleRatio: rounds.map(\.appleRatio).median)
        let table = ResultTable(Broadcast.titles, isJSON: options.json)
        for (name, broadcast) in [("apple", result.apple), ("android", result.android), ("web", result.web)] {
            table.add(broadcast.cells("\(devices) \(name)"))
        }
        table.add(result.mixed.cells("\(devices) of each"))
        table.add(["  ratio", "", figure(result.appleRatio, 2), "", figure(result.costRatio, 3), "", ""])
        table.note("ratios: seconds of Apple's devices among all by those alone; µs by the mean of the three")
        try table.end(result)
    }
}
