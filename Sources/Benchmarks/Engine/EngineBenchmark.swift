/// Pairs of runs of the engine and of h2load against one sink.
struct EngineBenchmark {
    let sink: any Sink
    let sender: Sender
    let h2load: H2Load
    let rounds: Int
    let delay: Duration

    /// Streams on a connection in the runs that measure latency: so few that all of them fit into the socket's buffer and
    /// none waits for another. With full streams the time of a stream is only the number of streams by the rate, wherever
    /// they wait.
    private static let latencyStreams = 16
    private static let latencyPushes = 100_000

    /// Fills caches and touches every thread of the sink; counts for nothing.
    func warmUp(_ shape: Shape) throws {
        _ = try h2load.run(shape)
    }

    /// All rounds of a shape.
    func compare(_ shape: Shape) throws -> Comparison {
        var pairs: [Comparison.Pair] = []
        for round in 0..<rounds {
            // Who goes first takes turns, too.
            if round.isMultiple(of: 2) {
                let engine = try runEngine(shape)
                pairs.append(Comparison.Pair(engine: engine, h2load: try runH2Load(shape)))
            } else {
                let h2load = try runH2Load(shape)
                pairs.append(Comparison.Pair(engine: try runEngine(shape), h2load: h2load))
            }
        }
        let bound = delay > .zero ? Double(shape.connections * sender.streams) / (delay / .seconds(1)) : nil
        return Comparison(shape, pairs, bound: bound)
    }

    private func runEngine(_ shape: Shape) throws -> Run {
        var run = try countingSink { try sender.run(shape, pushes: h2load.pushes) }
        // With a delay the streams wait for the sink alone.
        guard delay == .zero else { return run }
        var light = sender
        light.streams = Self.latencyStreams
        run.latency = try light.run(shape, pushes: Self.latencyPushes).latency
        return run
    }

    /// Writing a line for each request costs h2load time: that run counts for nothing but the percentiles.
    private func runH2Load(_ shape: Shape) throws -> Run {
        var run = try countingSink { try h2load.run(shape) }
        var light = h2load
        if delay == .zero {
            light.streams = Self.latencyStreams
            light.pushes = Self.latencyPushes
        }
        let mean = delay == .zero ? try light.run(shape).latency : run.latency
        run.latency = try light.run(shape, log: h2load.scratch.path + "/latencies").latency
        if let mean { run.latency?.mean = mean.mean }
        return run
    }

    private func countingSink(_ body: () throws -> Run) throws -> Run {
        let before = sink.processorMicroseconds
        var run = try body()
        run.sinkMicrosecondsPerPush = (sink.processorMicroseconds - before) / Double(h2load.pushes)
        return run
    }
}
