import ArgumentParser
import Foundation

/// `herald-bench recovery`: from the start after a crash to the first push.
struct RecoveryCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "recovery", abstract: "Measures how long a gateway takes after a crash.",
        discussion: """
            The gateway is killed (SIGKILL) in the middle of a broadcast, with single messages waiting beside it and as many \
            pushes without an answer as it may have in flight: the sink answers after two seconds. Then it is started again, \
            with a sink that answers at once, until everything is delivered.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Devices of the broadcast.") var devices = 1_000_000
    @Option(help: "Single messages that wait.") var singles = 100_000
    @Option(help: "Crashes.") var rounds = 3

    func validate() throws {
        guard (1...10_000_000).contains(devices) else { throw ValidationError("--devices is 1 to 10000000.") }
        guard (0...1_000_000).contains(singles) else { throw ValidationError("--singles is 0 to 1000000.") }
        guard (1...20).contains(rounds) else { throw ValidationError("--rounds is 1 to 20.") }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private struct Result: Encodable {
        /// Deliveries without a recorded answer at the crash: what the second sink saw.
        let outstanding: Int
        /// From the start of the process.
        let millisecondsToListen: Double
        let millisecondsToFirstPush: Double
        let secondsToCompletion: Double
        /// Pushes that both sinks saw: what was on the wire without a recorded answer.
        let repeats: Int
    }

    private func measure() async throws {
        let table = ResultTable(
            ["outstanding", "ms to listen", "ms to first push", "s to complete", "repeats"], isJSON: options.json)
        var results: [Result] = []
        for _ in 0..<rounds {
            let result = try await crash()
            table.add(
                [
                    String(result.outstanding), figure(result.millisecondsToListen, 0),
                    figure(result.millisecondsToFirstPush, 0), figure(result.secondsToCompletion, 1),
                    String(result.repeats),
                ])
            results.append(result)
        }
        try table.end(results)
    }

    private func crash() async throws -> Result {
        let bench = try await GatewayBench(
            GatewayBench.Setup(sizes: [devices], delay: .seconds(2)), options)
        let broadcast = try await bench.client.send(BroadcastMessage.text(to: Audience.topic(of: devices)))
        try sendSingles(bench)
        let open = try await bench.client.report(broadcast)
        guard open.completeTime == nil else { throw BenchFailure("the broadcast was complete before the crash") }
        bench.process.kill()
        let before = try await bench.sink.takeReport()
        let sink = try HeraldSink(bench.scratch, cores: options.sinkCores, delay: .zero)
        try bench.files.send(to: sink.port)
        try await bench.start()
        let first = try await firstPush(sink)
        let report = try await bench.client.completion(of: broadcast, within: GatewayBench.broadcastLimit)
        let end = ContinuousClock.now
        guard report.ledger.accepted == devices else {
            throw BenchFailure("of \(devices) pushes \(report.ledger.accepted) were accepted")
        }
        let after = try await pushes(sink, atLeast: devices + singles - before.pushes - first.pushes)
        guard before.pushes + first.pushes + after >= devices + singles else {
            throw BenchFailure("both sinks saw \(before.pushes) and \(first.pushes + after) pushes: some are lost")
        }
        return Result(
            outstanding: first.pushes + after, millisecondsToListen: bench.process.timeToListen.seconds * 1000,
            millisecondsToFirstPush: Double(first.time - bench.process.startTime) / 1e6,
            secondsToCompletion: (end - bench.process.startInstant).seconds,
            repeats: max(0, before.pushes + first.pushes + after - devices - singles))
    }

    /// As fast as the gateway takes them.
    private func sendSingles(_ bench: GatewayBench) throws {
        guard singles > 0 else { return }
        let load = try IngestLoad(
            bench.scratch, client: bench.client, token: bench.tokens[0], cores: options.sinkCores)
        _ = try load.run(clients: 8, streams: 1, .requests(singles), isEncrypted: false)
    }

    private func firstPush(_ sink: HeraldSink) async throws -> (time: UInt64, pushes: Int) {
        let begin = ContinuousClock.now
        while ContinuousClock.now - begin < .seconds(120) {
            let report = try await sink.takeReport()
            if report.pushes > 0 { return (report.firstTime, report.pushes) }
            // The sink has to be asked; the time is its own.
            try await Task.sleep(for: .milliseconds(20))
        }
        throw BenchFailure("no push came within two minutes of the crash")
    }

    /// Counts until as many came as there must, and no more come for a second.
    private func pushes(_ sink: HeraldSink, atLeast least: Int) async throws -> Int {
        var count = 0
        let begin = ContinuousClock.now
        while ContinuousClock.now - begin < .seconds(300) {
            let more = try await sink.takeReport().pushes
            count += more
            if more == 0, count >= least { return count }
            if more == 0, ContinuousClock.now - begin > .seconds(60) { return count }
            // The sink is another process: it has to be asked.
            try await Task.sleep(for: .seconds(1))
        }
        return count
    }
}
