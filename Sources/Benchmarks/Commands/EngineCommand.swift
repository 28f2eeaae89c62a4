import ArgumentParser
import Foundation

/// `herald-bench engine`: the engine beside h2load, against the same sink.
struct EngineCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "engine", abstract: "Compares the HTTP/2 engine with h2load against the same sink.",
        discussion: """
            Runs of the two alternate. Sender and sink stand on separate cores; each sender is a process of its own, and \
            its cost is the user and system time of that process from start to end. A shape is connections x threads; \
            the engine has one loop for each thread, and a pool with its part of the connections on each.

            The sink is nghttpd with two threads, or with --delay one of our own that waits before it answers. Its \
            processor time is counted too: "sink µs" must be about the same for both senders, or it did not do the same \
            work for both. With nghttpd the device tokens stand behind "/3/device?" and not "/3/device/": it then finds \
            the same file for every path, and its work does not hang on which of its 2,048 open files a sender hits.
            """)

    @Option(help: "Connections x threads; repeatable. By default 1x1, 4x1, 4x2 and 8x2.") var shape: [Shape] = []
    @Option(help: "Pairs of runs for each shape.") var rounds = 5
    @Option(help: "Pushes in a run. By default 400000; with --delay as many as ten seconds take at best.")
    var pushes: Int?
    @Option(help: "Device tokens; the paths repeat after so many pushes. Nothing of the sink's work hangs on it.")
    var tokens = 20_000
    @Option(help: "Streams on a connection.") var streams = 500
    @Option(help: "How long the sink waits with each answer, for example 50ms: a round trip.")
    var delay = DelayArgument.zero
    @Option(help: "The sink: nghttpd, or herald (with --delay always).") var sink = SinkKind.nghttpd
    @Option(help: "Cores of the senders, as taskset has it.") var senderCores = Cores.senders
    @Option(help: "Cores of the sink.") var sinkCores = Cores.sinks
    @Flag(help: "Count memory allocations in the steady state instead (valgrind).") var allocations = false
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (1000...2_000_000).contains(pushes ?? 1000) else { throw ValidationError("--pushes is 1000 to 2000000.") }
        guard (1000...1_000_000).contains(tokens) else { throw ValidationError("--tokens is 1000 to 1000000.") }
        guard (1...1000).contains(streams) else { throw ValidationError("--streams is 1 to 1000.") }
    }

    private static let usualShapes = ["1x1", "4x1", "4x2", "8x2"].compactMap(Shape.init(argument:))
    /// As many as its cores by default: nghttpd's workers, our sink's event loops.
    private static let sinkThreads = 2

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let shapes = shape.isEmpty ? Self.usualShapes : shape
        let scratch = try Scratch()
        let sink = try await makeSink(scratch)
        defer { sink.program.end() }
        let sender = Sender(
            certificate: scratch.certificate, port: sink.port, pathPrefix: sink.pathPrefix, streams: streams,
            tokens: tokens, cores: senderCores)
        if allocations {
            for shape in shapes { try AllocationCount(sender: sender, shape: shape).print(asJSON: json) }
            return
        }
        try scratch.writeAddresses(of: sink, tokens: tokens)
        var comparisons: [Comparison] = []
        if !json { show(Comparison.heading) }
        for shape in shapes {
            let h2load = try H2Load(
                scratch, port: sink.port, pushes: pushes(of: shape), streams: streams, cores: senderCores)
            let benchmark = EngineBenchmark(
                sink: sink, sender: sender, h2load: h2load, rounds: rounds, delay: delay.duration)
            if comparisons.isEmpty { try benchmark.warmUp(shapes.max { $0.connections < $1.connections } ?? shape) }
            let comparison = try benchmark.compare(shape)
            comparisons.append(comparison)
            if !json { show(comparison.row) }
        }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            // A ratio to nothing, when the kernel does not count the sink's time.
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
            show(String(decoding: try encoder.encode(comparisons), as: UTF8.self))
        }
    }

    private func makeSink(_ scratch: Scratch) async throws -> any Sink {
        if delay.duration > .zero || sink == .herald {
            return try HeraldSink(
                scratch, cores: sinkCores, streams: streams, threads: Self.sinkThreads, delay: delay.duration)
        }
        return try await Nghttpd(scratch, cores: sinkCores, streams: streams, workers: Self.sinkThreads)
    }

    private func pushes(of shape: Shape) -> Int {
        if let pushes { return pushes }
        guard delay.duration > .zero else { return 400_000 }
        let bound = Double(shape.connections * streams) / (delay.duration / .seconds(1))
        return min(2_000_000, max(1000, Int(bound * 10)))
    }
}

extension SinkKind: ExpressibleByArgument {}
