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

/// 2,000 pushes through the real engine while the simulator plays Apple at its worst.
///
/// For every scenario the same laws hold, whatever the moment at which it strikes: see ``ScenarioRun/checkLaws()``.
///
/// One after the other: a machine that is busy with all of them looks like a peer that is slow.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ScenarioTests {
    @Test(
        arguments: [
            "none", "stream-ramp", "stream-ramp,streamLimit=10,every=5,factor=2", "big-headers",
            "slow,medianMilliseconds=20,p99Milliseconds=200",
            "flow-control-stall,windowBytes=8,stepBytes=8,everyMilliseconds=2",
            "settings-flap", "settings-flap,streamLimit=1,every=7", "token-updates,share=0",
        ])
    func `What only costs time costs no push`(text: String) async throws {
        let run = try await play(text)
        #expect(run.count(.accepted) == 2000)
    }

    @Test(
        arguments: [
            ("too-many-requests,retryAfterSeconds=7", "too-many-requests", "TooManyRequests"),
            (
                "unavailable-burst,everyMilliseconds=500,durationMilliseconds=100", "unavailable-burst",
                "ServiceUnavailable"
            ),
            ("token-updates", "token-updates", "TooManyProviderTokenUpdates"),
        ])
    func `What may pass is throttled, and nothing else suffers`(
        text: String, name: String, reason: String
    ) async throws {
        // Whatever the machine's pace, the first pushes come within the first burst.
        let time = Shared(now())
        let run = try await play(text, wallTimeMilliseconds: { time.withLock { $0.tick() } })
        let pause: Duration? = name == "too-many-requests" ? .seconds(7) : nil
        let throttled = run.count(.throttled(.apns(503, reason), after: pause))
        #expect(throttled > 0)
        #expect(throttled == run.actions(name, reason))
        #expect(run.count(.accepted) == 2000 - throttled)
    }

    @Test func `A share of bad device tokens is rejected, each alone`() async throws {
        let run = try await play("bad-device-share")
        let rejected = run.count(.rejected(.badDeviceToken))
        #expect((500...700).contains(rejected))
        #expect(run.count(.accepted) == 2000 - rejected)
    }

    @Test func `Unregistered comes with its time`() async throws {
        let before = now()
        let run = try await play("unregistered-share,ageSeconds=60")
        let times = run.outcomes.compactMap { outcome -> Int64? in
            guard case .rejected(let refusal) = outcome, refusal.reason == "Unregistered",
                case .addressDead(let since?) = refusal.scope
            else {
                return nil
            }
            return since.milliseconds
        }
        #expect((150...250).contains(times.count))
        #expect(times.allSatisfy { (before - 60_000...now() - 60_000).contains($0) })
        #expect(run.count(.accepted) == 2000 - times.count)
    }

    @Test func `When the limit collapses, what was under way is not sent`() async throws {
        let run = try await play("collapse-after-reject")
        let rejected = run.count(.rejected(.badDeviceToken))
        let refused = run.count(.notSent(.refused))
        #expect(rejected > 0 && refused > 0)
        #expect(refused == run.actions("collapse-after-reject", "resetStream"))
        #expect(run.count(.accepted) == 2000 - rejected - refused)
    }

    @Test func `GOAWAY for a shutdown costs no answer`() async throws {
        let run = try await play("goaway-shutdown")
        let throttled = run.count(.throttled(.shutdown, after: nil))
        #expect(throttled > 0)
        #expect(throttled == run.actions("goaway-shutdown", "Shutdown"))
        #expect(run.count(.accepted) + run.count(.notSent(.refused)) == 2000 - throttled)
    }

    @Test(arguments: ["goaway-partial", "goaway-partial,errorCode=2"])
    func `Beyond the last stream of GOAWAY nothing was sent`(text: String) async throws {
        let run = try await play(text)
        #expect(run.count(.notSent(.refused)) >= run.actions("goaway-partial", "beyondLastStream"))
        #expect(run.actions("goaway-partial", "goAway") > 0)
        #expect(run.count(.accepted) + run.count(.notSent(.refused)) == 2000)
    }

    @Test(arguments: ["drop", "drop,abrupt=1"])
    func `After the loss of a connection it is unknown what became of its streams`(text: String) async throws {
        let run = try await play(text)
        #expect(run.count(.unknown(.connectionLost)) >= run.actions("drop", "drop"))
        #expect(run.actions("drop", "drop") > 0)
        // A stream whose request had not left yet was provably not sent.
        let lost = run.count(.unknown(.connectionLost)) + run.count(.notSent(.connectionLost))
        #expect(run.count(.accepted) + lost == 2000)
    }

    @Test(arguments: [2, 7, 8])
    func `A reset stream is unknown, a refused one not sent`(code: Int) async throws {
        let run = try await play("reset,errorCode=\(code)")
        let resets = run.actions("reset", "resetStream")
        #expect(resets > 0)
        #expect(run.count(code == 7 ? .notSent(.refused) : .unknown(.reset)) == resets)
        #expect(run.count(.accepted) == 2000 - resets)
    }

    @Test func `A half-open connection is found out and replaced`() async throws {
        let run = try await play("half-open,connections=2") {
            $0.pingInterval = .seconds(1)
            $0.pingTimeout = .seconds(3)
        }
        let lost = run.outcomes.count { if case .unknown = $0 { true } else { false } }
        #expect(lost >= run.actions("half-open", "freeze"))
        #expect(run.actions("half-open", "freeze") > 0)
        #expect(run.count(.accepted) == 2000 - lost)
    }

    @Test(
        arguments: [
            ("expired-wedge,connections=1", "ExpiredProviderToken"),
            ("unrelated-key,connections=1", "UnrelatedKeyIdInToken"),
            ("expired-wedge,status=500,connections=1", "InternalServerError"),
        ])
    func `A wedged connection is replaced, and then everything is accepted`(text: String, reason: String) async throws {
        let run = try await play(text, batch: 200)
        let throttled = run.count(.throttled(.apns(503, reason), after: nil))
        #expect(throttled > 0)
        #expect(run.count(.accepted) == 2000 - throttled)
        #expect(run.outcomes.suffix(200).allSatisfy { $0 == .accepted })
    }

    @Test func `Of several connections the one that answers nothing but 500 is replaced`() async throws {
        // Few streams, so that it takes all four connections.
        let run = try await play("expired-wedge,status=500,connections=1,after=1,spread=0", batch: 100) {
            $0.streamLimit = 10
        }
        let throttled = run.count(.throttled(.internalServerError, after: nil))
        #expect((20..<200).contains(throttled), "\(throttled)")
        #expect(run.count(.accepted) == 2000 - throttled)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `All of it at once costs no push its outcome`(seed: UInt64) async throws {
        let scenarios = try Scenario.Name.allCases.map { try Scenario(text: $0.rawValue) }
        // Few streams, so that it takes all four connections: each plays something else.
        let run = try await play(ScenarioSet(scenarios, seed: seed), batch: 250) {
            $0.streamLimit = 20
            $0.pingInterval = .seconds(2)
            $0.pingTimeout = .seconds(4)
        }
        #expect(run.statistics.connections > 1)
    }

    @Test func `A storm of GOAWAY does not become a storm of connections`() async throws {
        let run = try await play("goaway-partial,after=1,spread=0,held=1") {
            $0.queueTimeout = .seconds(3)
            $0.backOffFloor = .milliseconds(200)
        }
        #expect(run.outcomes.allSatisfy { if case .notSent = $0 { true } else { false } })
        #expect((1...40).contains(run.statistics.connections), "\(run.statistics.connections)")
    }

    // MARK: Running

    private func play(
        _ text: String, batch: Int = 2000, configure: @escaping @Sendable (inout PoolConfiguration) -> Void = { _ in },
        wallTimeMilliseconds: @escaping @Sendable () -> Int64 = now
    ) async throws -> ScenarioRun {
        try await play(
            ScenarioSet([try Scenario(text: text)], seed: 7), batch: batch, configure: configure,
            wallTimeMilliseconds: wallTimeMilliseconds)
    }

    /// Sends 2,000 pushes in batches to a simulator with these scenarios, and checks the laws.
    private func play(
        _ scenarios: ScenarioSet, batch size: Int, configure: @escaping @Sendable (inout PoolConfiguration) -> Void,
        wallTimeMilliseconds: @escaping @Sendable () -> Int64 = now
    ) async throws -> ScenarioRun {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
        var configuration = SimulatedAPNS.Configuration(
            identity: identity, wallTimeMilliseconds: wallTimeMilliseconds)
        configuration.port = 0
        configuration.scenarios = scenarios
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let simulator = SimulatedAPNS(configuration, logger: quiet) { bound, _ in port.yield(bound) }
        let sender = APNSSender(
            transport: TunedTransport(
                base: EngineTransport(engine: HTTP2Engine(loopCount: 1, logger: quiet)), configure: configure),
            wallTime: { Timestamp(milliseconds: wallTimeMilliseconds()) }, uptime: realUptime(), logger: quiet)
        let key = try ES256PrivateKey(pem: String(contentsOfFile: identity.keyFile, encoding: .utf8))
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
                key: key, endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: bound)],
                trustFile: identity.caFile)
        ])
        let pushes = try (0..<2000).map { try makePush(Int64($0)) }
        var reports: [PushReport?] = []
        for start in stride(from: 0, to: pushes.count, by: size) {
            let batch = Array(pushes[start..<min(start + size, pushes.count)])
            let collector = ReportCollector(of: batch.count)
            await sender.send(batch) { collector.take($0) }
            await collector.wait(for: batch.count)
            reports += batch.indices.map { collector.reports[$0] }
        }
        let run = ScenarioRun(
            pushes: pushes, reports: reports, recorded: simulator.recording.pushes,
            statistics: simulator.statistics)
        await sender.shutdown(within: .seconds(1))
        serving.cancel()
        try await serving.value
        run.checkLaws()
        withExtendedLifetime(directory) {}
        return run
    }
}

/// What came of a run.
private struct ScenarioRun {
    let pushes: [Push]
    let reports: [PushReport?]
    let recorded: [RecordedPush]
    let statistics: Simulators.Statistics

    var outcomes: [Outcome?] { reports.map { $0?.outcome } }

    func count(_ outcome: Outcome) -> Int {
        outcomes.count { $0 == outcome }
    }

    func actions(_ scenario: String, _ action: String) -> Int {
        statistics.scenarioActions[scenario]?[action] ?? 0
    }

    /// Each push has an outcome, and it is true:
    /// - accepted, rejected, throttled: APNs looked at it once, with that answer;
    /// - throttled and no attempt: APNs never looked at it;
    /// - not sent: APNs never looked at it;
    /// - unknown: APNs accepted it, or may not have looked at it, but refused nothing.
    ///
    /// And never was there a stream more than allowed.
    func checkLaws() {
        #expect(outcomes.count == pushes.count)
        #expect(statistics.streamViolations == 0)
        let arrivals = Dictionary(grouping: recorded, by: \.deviceToken)
        #expect(arrivals.values.allSatisfy { $0.count == 1 }, "a push arrived twice")
        var lies: [String] = []
        for (push, report) in zip(pushes, reports) {
            let arrival = arrivals[push.deviceToken.hex]?.first
            let outcome = report?.outcome
            let isTrue =
                switch outcome {
                case .throttled where report?.isAttempt == false: arrival == nil
                case .accepted: arrival?.status == 200
                case .rejected(let refusal), .throttled(let refusal, _): arrival?.reason == refusal.reason.rawValue
                case .notSent: arrival == nil
                case .unknown: arrival == nil || arrival?.status == 0 || arrival?.status == 200
                case nil: false
                }
            if !isTrue {
                lies.append("\(outcome.map { "\($0)" } ?? "none") for \(arrival.map { "\($0.status)" } ?? "none")")
            }
        }
        #expect(lies.isEmpty, "\(lies.count) outcomes are not true: \(Set(lies).sorted().prefix(5))")
    }
}

/// The engine with other limits.
private struct TunedTransport: RequestTransport {
    let base: EngineTransport
    let configure: @Sendable (inout PoolConfiguration) -> Void

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        var configuration = configuration
        configuration.allowForABusyMachine()
        configuration.backOffFloor = .milliseconds(20)
        configure(&configuration)
        return try base.openPool(configuration)
    }

    func shutdown(within limit: Duration) async {
        await base.shutdown(within: limit)
    }
}

extension Int64 {
    /// Goes on by one, and is that.
    fileprivate mutating func tick() -> Int64 {
        self += 1
        return self
    }
}

/// The real wall time, which the simulator holds against `iat`.
@Sendable private func now() -> Int64 {
    Int64(Date().timeIntervalSince1970 * 1000)
}
