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

/// The upstream against the simulator over real sockets: it pauses, probes and goes on. The wall clock is real, the
/// clock of the pauses is the test's.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct UpstreamScenarioTests {
    @Test(
        arguments: [
            ("unrelated-key,after=1,spread=0", "UnrelatedKeyIdInToken"),
            ("expired-wedge,after=1,spread=0", "ExpiredProviderToken"),
        ])
    func `A credential that no connection takes is tried twice, paused, probed and resumed`(
        text: String, name: String
    ) async throws {
        let play = try await ScenarioPlayground.start(text)
        let reason = Refusal.apns(403, name)
        let batch = try play.pushes(50)
        // Once, and once at once on a new connection.
        #expect(await play.send([batch[0]]).map(\.outcome) == [.throttled(reason, after: nil)])
        #expect(play.status?.pauses == [])
        #expect(await play.send([batch[0]]).map(\.outcome) == [.throttled(reason, after: nil)])
        #expect(play.status?.pauses.map(\.part) == [.everything])
        #expect(play.simulator.statistics.connections == 2)
        let held = await play.send(batch)
        #expect(held.allSatisfy { !$0.isAttempt && $0.outcome == .throttled(reason, after: .seconds(30)) })
        #expect(play.arrivals == 2)
        play.time.advance(by: .seconds(30))
        #expect(await play.send(batch).count(where: \.isAttempt) == 1)
        #expect(play.arrivals == 3)
        play.simulator.scenarios.set(ScenarioSet())
        #expect(await play.send(batch).count(where: \.isAttempt) == 0)
        play.time.advance(by: .seconds(60))
        // Not the whole batch: after a refusal a few go at first, and the rest would see an answer that came between.
        #expect(await play.send([batch[0]]).map(\.outcome) == [.accepted])
        #expect(play.status?.pauses == [])
        #expect(await play.send(batch).allSatisfy { $0.outcome == .accepted })
        try await play.stop()
    }

    @Test func `Token updates that are refused get new connections and no pause`() async throws {
        let play = try await ScenarioPlayground.start("token-updates,after=1,spread=0,length=3,connections=1")
        let batch = try play.pushes(50)
        let reason = Refusal.tooManyProviderTokenUpdates
        #expect(await play.send([batch[0]]).map(\.outcome) == [.throttled(reason, after: nil)])
        #expect(await play.send(batch).allSatisfy { $0.outcome == .accepted })
        #expect(play.simulator.statistics.connections >= 2)
        #expect(play.status?.pauses == [])
        try await play.stop()
    }

    @Test func `While APNs is unavailable little is sent, and then all of it goes`() async throws {
        let always = "unavailable-burst,everyMilliseconds=3600000,durationMilliseconds=3600000"
        let play = try await ScenarioPlayground.start(always)
        let batch = try play.pushes(400)
        #expect(
            await play.send(batch).allSatisfy { $0.outcome == .throttled(.serviceUnavailable, after: nil) })
        #expect((1...200).contains(play.status?.paceLimit ?? 0))
        play.simulator.scenarios.set(ScenarioSet([try Scenario(text: always + ",retryAfterSeconds=20")], seed: 1))
        play.time.advance(by: .seconds(1))
        _ = await play.send([batch[0]])
        let arrivals = play.arrivals
        let held = await play.send(batch)
        #expect(held.allSatisfy { !$0.isAttempt && $0.outcome == .throttled(.serviceUnavailable, after: .seconds(20)) })
        #expect(play.arrivals == arrivals)
        play.simulator.scenarios.set(ScenarioSet())
        play.time.advance(by: .seconds(20))
        #expect(await play.send(batch).allSatisfy { $0.outcome == .accepted })
        #expect(play.status?.pauses == [])
        try await play.stop()
    }

    @Test func `Devices that get too many are left alone, and no others`() async throws {
        let play = try await ScenarioPlayground.start("too-many-requests,share=1")
        let batch = try play.pushes(100)
        #expect(await play.send(batch).allSatisfy { $0.outcome == .throttled(.tooManyRequests, after: nil) })
        play.simulator.scenarios.set(ScenarioSet())
        let second = await play.send(batch + (try play.pushes(100, from: 1000)))
        #expect(
            second.prefix(100).allSatisfy {
                !$0.isAttempt && $0.outcome == .throttled(.tooManyRequests, after: .seconds(5))
            })
        #expect(second.suffix(100).allSatisfy { $0.outcome == .accepted })
        play.time.advance(by: .seconds(5))
        #expect(await play.send(batch).allSatisfy { $0.outcome == .accepted })
        #expect(play.status?.paceLimit == nil && play.status?.pauses == [])
        try await play.stop()
    }

    @Test func `A share of bad device tokens stops the app until a probe passes`() async throws {
        let play = try await ScenarioPlayground.start("bad-device-share,share=0.9")
        let batch = try play.pushes(200)
        let first = await play.send(batch)
        #expect(first.count { $0.outcome == .rejected(.badDeviceToken) } > 100)
        #expect(play.status?.pauses.map(\.part) == [.route(batch[0].route)])
        let held = await play.send(batch)
        #expect(held.allSatisfy { !$0.isAttempt && $0.outcome == .throttled(.badDeviceToken, after: .seconds(30)) })
        #expect(play.arrivals == 200)
        play.simulator.scenarios.set(ScenarioSet())
        play.time.advance(by: .seconds(30))
        #expect(await play.send(batch).count { $0.outcome == .accepted } == 1)
        #expect(await play.send(batch).allSatisfy { $0.outcome == .accepted })
        #expect(play.status?.pauses == [])
        try await play.stop()
    }

    @Test func `A clock that is ten minutes behind is seen and does no harm`() async throws {
        let play = try await ScenarioPlayground.start("none", clockAhead: .seconds(600))
        #expect(await play.send(try play.pushes(10)).allSatisfy { $0.outcome == .accepted })
        let skew = try #require(play.status?.clockSkew)
        #expect((-602 ... -598).contains(skew.components.seconds))
        try await play.stop()
    }

    @Test func `A clock that is two hours behind pauses at once, and says why`() async throws {
        let play = try await ScenarioPlayground.start("none", clockAhead: .seconds(7200))
        let batch = try play.pushes(10)
        #expect(await play.send([batch[0]]).map(\.outcome) == [.throttled(.expiredProviderToken, after: nil)])
        #expect(play.status?.pauses.map(\.reason) == ["ExpiredProviderToken"])
        #expect(play.log.all.contains { $0.contains("by the gateway's clock; it is -72") })
        #expect(await play.send(batch).allSatisfy { !$0.isAttempt })
        #expect(play.arrivals == 1)
        try await play.stop()
    }
}

/// A simulator with scenarios and a sender that reaches it.
private struct ScenarioPlayground {
    let simulator: SimulatedAPNS
    let sender: APNSSender
    let time = TestTime()
    let log: LogCapture.Lines
    private let serving: Task<Void, any Error>
    private let directory: TestDirectory

    /// Starts both.
    ///
    /// - Parameter clockAhead: how far the simulator's clock is ahead of this machine's.
    static func start(_ text: String, clockAhead: Duration = .zero) async throws -> ScenarioPlayground {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
        var configuration = SimulatedAPNS.Configuration(
            identity: identity, wallTimeMilliseconds: { now() + clockAhead.wholeMilliseconds })
        configuration.port = 0
        configuration.scenarios = ScenarioSet([try Scenario(text: text)], seed: 7)
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let simulator = SimulatedAPNS(configuration, logger: quiet) { bound, _ in port.yield(bound) }
        let serving = Task {
            do {
                try await simulator.run()
            } catch is CancellationError {
                // The test is over.
            }
        }
        let bound = try #require(await ports.first { _ in true })
        let play = ScenarioPlayground(simulator, serving, directory, quiet)
        let key = try ES256PrivateKey(pem: String(contentsOfFile: identity.keyFile, encoding: .utf8))
        try play.sender.use([
            APNSAppConfiguration(
                project: try #require(ProjectID(rawValue: "demo")),
                app: try #require(AppID(rawValue: "com.example.app")), teamID: identity.teamID, keyID: identity.keyID,
                key: key, endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: bound)],
                trustFile: identity.caFile)
        ])
        return play
    }

    private init(
        _ simulator: SimulatedAPNS, _ serving: Task<Void, any Error>, _ directory: TestDirectory, _ quiet: Logger
    ) {
        self.simulator = simulator
        self.serving = serving
        self.directory = directory
        let log = LogCapture.Lines()
        self.log = log
        sender = APNSSender(
            transport: EagerTransport(base: EngineTransport(engine: HTTP2Engine(loopCount: 1, logger: quiet))),
            wallTime: { Timestamp(milliseconds: now()) }, uptime: time.uptime,
            logger: Logger(label: "test") { _ in LogCapture(lines: log) })
    }

    var status: UpstreamStatus? { sender.upstreams.first }
    var arrivals: Int { simulator.statistics.pushes }

    func pushes(_ count: Int, from first: Int64 = 0) throws -> [Push] {
        try (0..<Int64(count)).map { try makePush(first + $0) }
    }

    func send(_ batch: [Push]) async -> [PushReport] {
        let collector = ReportCollector(of: batch.count)
        await sender.send(batch) { collector.take($0) }
        await collector.wait(for: batch.count)
        return collector.reports.values.sorted { $0.index < $1.index }
    }

    func stop() async throws {
        await sender.shutdown(within: .seconds(1))
        serving.cancel()
        try await serving.value
        withExtendedLifetime(directory) {}
    }
}

/// The engine with a short back-off: connections that were refused are replaced in no time.
private struct EagerTransport: RequestTransport {
    let base: EngineTransport

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        var configuration = configuration
        configuration.allowForABusyMachine()
        configuration.backOffFloor = .milliseconds(20)
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
