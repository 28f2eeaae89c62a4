import ArgumentParser
import Foundation
import HTTPListener
import Hummingbird
import Logging
import NIOCore
import PushModel
import Synchronization

/// `herald-bench webhooks`: how long a broadcast takes to be told, and what that costs it.
struct WebhooksCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "Measures events of devices on their way to a receiver.",
        discussion: """
            herald serve sends a message to a topic, without a webhook and with one that gets an event for each device. \
            Shown is how long the broadcast took, and how long after it the last event was with the receiver, which runs in \
            this process and counts.
            """)

    @OptionGroup var options: GatewayOptions
    @Option(help: "Registered devices.") var devices = 1_000_000
    @Option(help: "Pairs of runs.") var rounds = 3

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (1...10_000_000).contains(devices) else { throw ValidationError("--devices are 1 to 10000000.") }
    }

    /// What one pair took.
    struct Pair: Encodable {
        let without: Broadcast
        let with: Broadcast
        /// From the end of the broadcast to the last event.
        let secondsBehind: Double
        let requests: Int

        /// How much longer the broadcast took.
        var slowdown: Double { with.seconds / without.seconds - 1 }
    }

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let counter = EventCounter()
        try await EventReceiver(counter).run { port in
            var setup = GatewayBench.Setup(sizes: [devices])
            setup.allowsReceivers = true
            let bench = try await GatewayBench(setup, options)
            _ = try await bench.prove(devices)
            let table = ResultTable(
                ["round", "s without", "s with", "slowdown", "s behind", "events/s", "requests"], isJSON: options.json)
            var pairs: [Pair] = []
            for round in 1...rounds {
                let pair = try await pair(bench, counter, port: port)
                table.add([
                    String(round), figure(pair.without.seconds, 2), figure(pair.with.seconds, 2),
                    figure(100 * pair.slowdown, 1) + " %", figure(pair.secondsBehind, 2),
                    figure(Double(devices) / pair.secondsBehind, 0), String(pair.requests),
                ])
                pairs.append(pair)
            }
            try table.end(pairs)
        }
    }

    private func pair(_ bench: GatewayBench, _ counter: EventCounter, port: Int) async throws -> Pair {
        let without = try await bench.broadcast(to: devices)
        let name = try await bench.client.createWebhook(
            "http://127.0.0.1:\(port)/", types: ["delivery.accepted", "delivery.rejected", "delivery.expired"])
        counter.reset()
        let with = try await bench.broadcast(to: devices)
        let end = ContinuousClock.now
        await counter.untilReceived(devices)
        let behind = (ContinuousClock.now - end).seconds
        try await bench.client.deleteWebhook(name)
        return Pair(without: without, with: with, secondsBehind: behind, requests: counter.requests)
    }
}

/// Counts events that came.
final class EventCounter: Sendable {
    private struct State {
        var events = 0
        var requests = 0
        var watcher: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    /// Requests since the last reset.
    var requests: Int { state.withLock { $0.requests } }

    /// Begins anew.
    func reset() { state.withLock { ($0.events, $0.requests) = (0, 0) } }

    /// A request came with so many events.
    func add(_ events: Int) {
        let ready: CheckedContinuation<Void, Never>? = state.withLock { state in
            state.events += events
            state.requests += 1
            guard let watcher = state.watcher, state.events >= watcher.count else { return nil }
            state.watcher = nil
            return watcher.continuation
        }
        ready?.resume()
    }

    /// Returns once so many events have come.
    func untilReceived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.events >= count { return true }
                state.watcher = (count, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// A receiver in this process: reads what comes, counts its events, answers 204.
struct EventReceiver: HTTPResponder {
    typealias Context = BasicRequestContext

    private let counter: EventCounter

    init(_ counter: EventCounter) {
        self.counter = counter
    }

    /// Listens while `body` runs, which gets the port.
    func run(_ body: @escaping @Sendable (_ port: Int) async throws -> Void) async throws {
        var logger = Logger(label: "receiver")
        logger.logLevel = .error
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let listener = try Listener(
            ListenerConfiguration(host: "127.0.0.1", port: 0, tls: nil), name: "receiver", responder: { _ in self },
            faultAnswer: { _, _ in FaultAnswer(status: .badRequest, contentType: "text/plain", body: ByteBuffer()) },
            logger: logger, onListening: { announce.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await listener.run() }
            group.addTask {
                guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
                try await body(port)
            }
            try await group.next()
            group.cancelAll()
        }
    }

    func respond(to request: Request, context: Context) async throws -> Response {
        let body = try await request.body.collect(upTo: 1 << 20)
        counter.add(Self.events(in: String(buffer: body)))
        return Response(status: .noContent)
    }

    /// A batch ends with the numbers of its first and last event; in a store of one project these are all in it.
    private static func events(in text: String) -> Int {
        guard let tail = text.suffix(100).firstMatch(of: /"firstSequence":(\d+),"lastSequence":(\d+)/)?.output,
            let first = Int(tail.1), let last = Int(tail.2)
        else { return 1 }
        return last - first + 1
    }
}
