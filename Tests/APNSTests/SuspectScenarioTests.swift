import Foundation
import HTTP2Client
import Logging
import PushModel
import Signing
import Simulators
import TestSupport
import Testing

@testable import APNS
@testable import Upstream

/// Suspects and proven device tokens through the real engine, against a simulator that narrows a connection when it
/// refuses a token.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SuspectScenarioTests {
    @Test func `Bad tokens among the suspects cost the proven no stream`() async throws {
        try await withSimulator("collapse-after-reject,share=0") { simulator, sender in
            let pushes = try (0..<1200).map { try makePush(Int64($0), isProven: $0 % 6 != 0) }
            let bad = pushes.filter { !$0.isProven }.enumerated().filter { $0.offset % 10 == 0 }.map(\.element)
            for push in bad {
                simulator.rules.set(.init(.reject(status: 400, reason: "BadDeviceToken")), for: push.deviceToken.hex)
            }
            var refused: [Bool: Int] = [:]
            var ends: [Outcome: Int] = [:]
            var left = pushes
            while !left.isEmpty {
                var again: [Push] = []
                for (push, outcome) in zip(left, await send(left, through: sender)) {
                    if case .notSent(let cause) = outcome {
                        if cause == .refused { refused[push.isProven, default: 0] += 1 }
                        again.append(push)
                    } else {
                        ends[outcome, default: 0] += 1
                    }
                }
                left = again
            }
            #expect(ends == [.accepted: 1180, .rejected(.badDeviceToken): 20])
            #expect(refused[true] == nil, "a stream of the proven was refused")
            let resets = simulator.statistics.scenarioActions["collapse-after-reject"]?["resetStream"] ?? 0
            #expect(resets > 0 && resets == refused[false])
            let connections = connections(simulator.recording.pushes, of: pushes)
            #expect(connections.proven.isDisjoint(with: connections.suspects))
            #expect(simulator.statistics.streamViolations == 0)
        }
    }

    @Test func `A new installation uses every connection, until proven tokens need them`() async throws {
        let scenario = "slow,medianMilliseconds=20,p99Milliseconds=40"
        try await withSimulator(scenario, configure: { $0.streamLimit = 10 }) { simulator, sender in
            let limit = PoolConfiguration(host: "", port: 0).connectionLimit
            var first: Set<Int> = []
            // A machine that is busy with other things dials slowly, so as many rounds as it takes.
            for round in 0..<100 where first.count < limit {
                simulator.recording.clear()
                let pushes = try (0..<400).map { try makePush(Int64(round * 400 + $0), isProven: false) }
                #expect(await send(pushes, through: sender).allSatisfy { $0 == .accepted })
                first.formUnion(connections(simulator.recording.pushes, of: pushes).suspects)
            }
            #expect(first.count == limit)
            #expect(simulator.statistics.connections == limit)

            simulator.recording.clear()
            let mixed = try (100_000..<100_400).map { try makePush(Int64($0), isProven: $0 % 2 == 0) }
            #expect(await send(mixed, through: sender).allSatisfy { $0 == .accepted })
            let later = connections(simulator.recording.pushes, of: mixed)
            #expect(later.suspects.count == limit / 4)
            #expect(!later.proven.isEmpty && later.proven.count <= limit)
            #expect(later.proven.isDisjoint(with: later.suspects))
        }
    }

    /// What a sender can do is streams by round trip: the streams are counted, so that a slow machine changes nothing.
    @Test func `A broadcast keeps the streams of all its connections beside urgent suspects`() async throws {
        let streams = 20
        let scenario = "slow,medianMilliseconds=50,p99Milliseconds=50"
        try await withSimulator(scenario, configure: { $0.streamLimit = streams }) { simulator, sender in
            let limit = PoolConfiguration(host: "", port: 0).connectionLimit
            var inUse: [Int] = []
            // A machine that is busy with other things dials slowly, so as many rounds as it takes.
            for round in 0..<20 where inUse.count < 30 {
                simulator.recording.clear()
                let bulk = try (0..<5000).map { try makePush(Int64(round * 10_000 + $0)) }
                let ends = ReportCollector(of: bulk.count)
                await sender.send(bulk) { ends.take($0) }
                var suspects: [Push] = []
                // Until the last ones, all streams are wanted.
                while ends.reports.count < 4500 {
                    // Three in each round trip are more than fifty a second.
                    let next = try (0..<3).map {
                        try makePush(Int64(1_000_000 + suspects.count + $0), lane: .interactive, isProven: false)
                    }
                    suspects += next
                    #expect(await send(next, through: sender).allSatisfy { $0 == .accepted })
                    let status = try #require(sender.upstreams.first)
                    // All connections have proven themselves.
                    guard status.streamLimit == (limit + 1) * streams, status.queued > 0 else { continue }
                    inUse.append(status.streamsInUse)
                }
                await ends.wait(for: bulk.count)
                #expect(ends.outcomes.allSatisfy { $0 == .accepted })
                let connections = connections(simulator.recording.pushes, of: bulk + suspects)
                #expect(connections.proven.count <= limit && connections.suspects.count == 1)
                #expect(connections.proven.isDisjoint(with: connections.suspects))
            }
            #expect(inUse.count >= 30)
            let mean = Double(inUse.reduce(0, +)) / Double(max(1, inUse.count))
            #expect(mean >= 0.9 * Double(limit * streams), "\(mean) of \(limit * streams)")
        }
    }

    // MARK: Running

    private func send(_ batch: [Push], through sender: APNSSender) async -> [Outcome] {
        let collector = ReportCollector(of: batch.count)
        await sender.send(batch) { collector.take($0) }
        await collector.wait(for: batch.count)
        return collector.outcomes.compactMap { $0 }
    }

    /// The connections on which `pushes` arrived.
    private func connections(
        _ recorded: [RecordedPush], of pushes: [Push]
    ) -> (proven: Set<Int>, suspects: Set<Int>) {
        let isProven = Dictionary(pushes.map { ($0.deviceToken.hex, $0.isProven) }, uniquingKeysWith: { $1 })
        func connections(_ kind: Bool) -> Set<Int> {
            Set(recorded.filter { isProven[$0.deviceToken] == kind }.map(\.connection))
        }
        return (connections(true), connections(false))
    }

    private func withSimulator(
        _ scenario: String, configure: @escaping @Sendable (inout PoolConfiguration) -> Void = { _ in },
        _ body: (SimulatedAPNS, APNSSender) async throws -> Void
    ) async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
        var configuration = SimulatedAPNS.Configuration(identity: identity, wallTimeMilliseconds: now)
        configuration.port = 0
        configuration.scenarios = ScenarioSet([try Scenario(text: scenario)], seed: 7)
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let simulator = SimulatedAPNS(configuration, logger: quiet) { bound, _ in port.yield(bound) }
        let sender = APNSSender(
            transport: ConfiguredTransport(
                base: EngineTransport(engine: HTTP2Engine(loopCount: 1, logger: quiet)), configure: configure),
            wallTime: { Timestamp(milliseconds: now()) }, uptime: realUptime(), logger: quiet)
        let serving = Task {
            do {
                try await simulator.run()
            } catch is CancellationError {
                // The test is over.
            }
        }
        let bound = try #require(await ports.first { _ in true })
        try sender.use([
            APNSAppConfiguration(
                project: try #require(ProjectID(rawValue: "demo")),
                app: try #require(AppID(rawValue: "com.example.app")), teamID: identity.teamID, keyID: identity.keyID,
                key: try ES256PrivateKey(pem: String(contentsOfFile: identity.keyFile, encoding: .utf8)),
                endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: bound)], trustFile: identity.caFile)
        ])
        try await body(simulator, sender)
        await sender.shutdown(within: .seconds(1))
        serving.cancel()
        try await serving.value
        withExtendedLifetime(directory) {}
    }
}

/// The engine with other limits.
private struct ConfiguredTransport: RequestTransport {
    let base: EngineTransport
    let configure: @Sendable (inout PoolConfiguration) -> Void

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        var configuration = configuration
        configuration.allowForABusyMachine()
        configure(&configuration)
        return try base.openPool(configuration)
    }

    func shutdown(within limit: Duration) async {
        await base.shutdown(within: limit)
    }
}

/// The real wall time, which the simulator holds against `iat`.
@Sendable private func now() -> Int64 {
    Int64(Date().timeIntervalSince1970 * 1000)
}
