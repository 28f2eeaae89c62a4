import Foundation
import NIOCore

/// Sends single messages at a steady rate and times each until the sink answered its push.
struct Prober {
    let client: GatewayClient
    let sink: HeraldSink
    let tokens: [String]
    /// In a second.
    let rate: Int

    /// How long the last pushes may take to arrive.
    private static let patience = Duration.seconds(60)

    /// Sends `count` probes; from each one's request to the sink's answer.
    func run(_ count: Int) async throws -> Percentiles {
        _ = try await sink.takeReport()
        let sent = try await withThrowingTaskGroup(of: (Int, UInt64).self) { group in
            let begin = ContinuousClock.now
            for number in 0..<count {
                // The pace is the requested one, so a probe that is late holds up none that follow.
                try await Task.sleep(until: begin + .seconds(1) * number / rate)
                group.addTask { [client, tokens] in
                    let time = NIODeadline.now().uptimeNanoseconds
                    _ = try await client.send(ProbeMessage.message(number, to: tokens[number % tokens.count]))
                    return (number, time)
                }
            }
            return try await group.reduce(into: [Int: UInt64]()) { $0[$1.0] = $1.1 }
        }
        let answered = try await answers(count)
        var histogram = Histogram()
        for (number, time) in sent {
            guard let end = answered[number] else { throw BenchFailure("probe \(number) did not arrive") }
            histogram.add(nanoseconds: Int64(end) - Int64(time))
        }
        return histogram.percentiles
    }

    private func answers(_ count: Int) async throws -> [Int: UInt64] {
        var answers: [Int: UInt64] = [:]
        let begin = ContinuousClock.now
        while answers.count < count, ContinuousClock.now - begin < Self.patience {
            answers.merge(try await sink.takeReport().probes) { first, _ in first }
            // The sink has to be asked; it does not call.
            if answers.count < count { try await Task.sleep(for: .milliseconds(50)) }
        }
        return answers
    }
}

/// One broadcast after the other, until it is enough.
actor BackgroundBroadcasts {
    private let client: GatewayClient
    private let topic: String
    private var names: [String] = []
    private var work: Task<Void, any Error>?

    init(client: GatewayClient, topic: String) {
        self.client = client
        self.topic = topic
    }

    /// Sends the first one, and another each time that one is complete.
    func begin() async throws {
        names.append(try await client.send(BroadcastMessage.text(to: topic)))
        // Ended by ``end()``.
        work = Task { try await self.continueUntilCancelled() }
    }

    private func continueUntilCancelled() async throws {
        while !Task.isCancelled {
            _ = try await client.completion(of: names[names.count - 1], within: GatewayBench.broadcastLimit)
            names.append(try await client.send(BroadcastMessage.text(to: topic)))
        }
    }

    /// Sends no more.
    ///
    /// - Returns: how many there were.
    func end() async throws -> Int {
        work?.cancel()
        do {
            try await work?.value
        } catch is CancellationError {
            // As asked.
        } catch {
            // The request that was under way.
            if work?.isCancelled != true { throw error }
        }
        return names.count
    }
}
