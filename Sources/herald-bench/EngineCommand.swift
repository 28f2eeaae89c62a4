import ArgumentParser
import Foundation

/// `herald-bench engine`: the engine beside h2load, against the same nghttpd.
struct EngineCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "engine", abstract: "Compares the HTTP/2 engine with h2load against the same nghttpd.",
        discussion: """
            Runs of the two alternate. Sender and sink stand on separate cores; each sender is a process of its own, and \
            its cost is the user and system time of that process from start to end. A shape is connections x threads; \
            the engine has one loop for each thread and spreads one pool over them.
            """)

    @Option(help: "Connections x threads; repeatable.") var shape: [Shape] = []
    @Option(help: "Pairs of runs for each shape.") var rounds = 5
    @Option(help: "Pushes in a run.") var pushes = 200_000
    @Option(help: "Device tokens; the paths repeat after so many pushes, never among those in flight.")
    var tokens = 20_000
    @Option(help: "Streams on a connection.") var streams = 500
    @Option(help: "Cores of the senders, as taskset has it.") var senderCores = "0-1"
    @Option(help: "Cores of the sink.") var sinkCores = "2-3"
    @Flag(help: "Count memory allocations in the steady state instead (valgrind).") var allocations = false
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (1000...2_000_000).contains(pushes) else { throw ValidationError("--pushes is 1000 to 2000000.") }
        guard (1000...1_000_000).contains(tokens) else { throw ValidationError("--tokens is 1000 to 1000000.") }
        guard (1...1000).contains(streams) else { throw ValidationError("--streams is 1 to 1000.") }
    }

    private static let usualShapes = ["1x1", "4x1", "4x2", "8x2"].compactMap(Shape.init(argument:))

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let shapes = shape.isEmpty ? Self.usualShapes : shape
        let scratch = try Scratch(tokens: tokens)
        try scratch.makeTokenFiles()
        let sink = try await Nghttpd(scratch, cores: sinkCores, streams: streams, workers: 2)
        let sender = Sender(
            certificate: scratch.certificate, port: sink.port, streams: streams, tokens: tokens, cores: senderCores)
        if allocations {
            return try AllocationCount(sender: sender, shape: shapes[0]).print(asJSON: json)
        }
        let h2load = try H2Load(scratch, port: sink.port, pushes: pushes, streams: streams, cores: senderCores)
        try scratch.writeAddresses(port: sink.port)
        // The first run fills the kernel's and nghttpd's caches of the files.
        _ = try h2load.run(shapes[0])
        var comparisons: [Comparison] = []
        if !json { show(Comparison.heading) }
        for shape in shapes {
            let comparison = try compare(shape, sender, h2load)
            comparisons.append(comparison)
            if !json { show(comparison.row) }
        }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            show(String(decoding: try encoder.encode(comparisons), as: UTF8.self))
        }
        withExtendedLifetime(sink) {}
    }

    /// At once, also into a pipe.
    private func show(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    private func compare(_ shape: Shape, _ sender: Sender, _ h2load: H2Load) throws -> Comparison {
        var ours: [Run] = []
        var theirs: [Run] = []
        for round in 0..<rounds {
            // Who goes first takes turns, too.
            if round.isMultiple(of: 2) { ours.append(try sender.run(shape, pushes: pushes)) }
            theirs.append(try h2load.run(shape))
            if !round.isMultiple(of: 2) { ours.append(try sender.run(shape, pushes: pushes)) }
        }
        var reference = Run.median(of: theirs)
        // Writing a line for each request costs h2load time, so its latencies come from a run that counts for nothing else.
        reference.latency = try h2load.run(shape, log: h2load.scratch.path + "/latencies").latency
        return Comparison(shape, ours, theirs, reference: reference)
    }
}
