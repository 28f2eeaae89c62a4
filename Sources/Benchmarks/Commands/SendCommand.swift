import ArgumentParser
import Foundation
import HTTP2Client
import Logging
import Synchronization

/// The engine's side of a comparison, in a process of its own: sends pushes as fast as they are taken, and prints what
/// it saw as a line of JSON.
struct SendCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "send-pushes", abstract: "Sends pushes to 127.0.0.1 and prints the figures.", shouldDisplay: false)

    @Option var port: Int
    @Option var pathPrefix: String
    @Option var certificate: String
    @Option var pushes: Int
    @Option var connections: Int
    @Option var threads: Int
    @Option var streams: Int
    @Option var tokens: Int
    @Option var batch = 500
    @Flag(help: "Send the same requests over and over, made before the first is sent.") var prepared = false

    func run() throws {
        try waiting { try await measure() }
    }

    private func measure() async throws {
        let engine = HTTP2Engine(loopCount: threads, logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        let pools = try (0..<threads).map { try engine.openPool(configuration(ofPool: $0)) }
        let tally = SendTally(expected: pushes)
        // As h2load reads its addresses, and builds its header fields, before it begins.
        let paths = (0..<tokens).map { DevicePath.of($0, prefix: pathPrefix) }
        let head = RequestHead(method: "POST", fields: Push.sharedFields)
        let body = Array(Push.body.utf8)
        @Sendable func make(_ numbers: Range<Int>) -> [Request] {
            numbers.map { Push.request($0, head: head, path: paths[$0 % tokens], body: body) }
        }
        let repeated = prepared ? make(0..<batch) : []
        let start = ContinuousClock.now
        let batches = Batches(of: batch, pushes: pushes)
        // A pool whose queue is full holds back its own task alone.
        await withDiscardingTaskGroup { tasks in
            for pool in pools {
                tasks.addTask {
                    while let numbers = batches.next() {
                        let isWhole = numbers.count == batch
                        let requests = !prepared ? make(numbers) : isWhole ? repeated : make(0..<numbers.count)
                        await pool.submit(requests) { tally.note($0) }
                    }
                }
            }
        }
        await tally.wait()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let statistics = Self.sum(of: pools)
        await engine.shutdown(within: .seconds(5))
        let report = tally.report(seconds: seconds, statistics: statistics)
        print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }

    /// One pool for each thread, with its part of the connections.
    private func configuration(ofPool number: Int) -> PoolConfiguration {
        var configuration = PoolConfiguration(host: "127.0.0.1", port: port)
        configuration.trust = .file(certificate)
        configuration.connectionLimit = connections / threads + (number < connections % threads ? 1 : 0)
        configuration.responseFields = ["retry-after"]
        configuration.streamLimit = streams
        // What waits behind full streams: enough to fill them again before the next batch is made.
        configuration.queueLimit = 2 * configuration.connectionLimit * streams
        return configuration
    }

    /// The figures of pools on a loop each.
    private static func sum(of pools: [ConnectionPool]) -> PoolStatistics {
        var sum = PoolStatistics()
        for pool in pools {
            let statistics = pool.statistics
            sum.add(statistics)
            sum.wakeUps += statistics.wakeUps
        }
        return sum
    }
}

/// Hands out the numbers of a run's pushes, a batch at a time.
private final class Batches: Sendable {
    private let size: Int
    private let pushes: Int
    private let sent = Mutex(0)

    init(of size: Int, pushes: Int) {
        self.size = size
        self.pushes = pushes
    }

    /// `nil`: all are taken.
    func next() -> Range<Int>? {
        sent.withLock { sent in
            guard sent < pushes else { return nil }
            let first = sent
            sent = min(pushes, first + size)
            return first..<sent
        }
    }
}
