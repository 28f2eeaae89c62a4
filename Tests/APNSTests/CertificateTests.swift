import FCMWire
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

/// Certificates instead of provider keys, without a network.
@Suite(.timeLimit(.minutes(5)))
struct CertificateTests {
    private let simulator: SimulatorIdentity
    private let directory: TestDirectory

    init() throws {
        directory = try TestDirectory()
        simulator = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
    }

    @Test func `A request carries no token, all else is the same`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([certificateApp("com.example.app")])
        #expect(await fixture.send([try makePush()]) == [.accepted])
        let request = try #require(fixture.transport.pools.flatMap(\.requests).first)
        #expect(request.header("authorization") == nil)
        #expect(request.header("apns-topic") == "com.example.app")
        #expect(request.header("apns-id") != nil)
    }

    @Test func `Each certificate has connections of its own`() async throws {
        let fixture = SenderFixture()
        let apps = try [
            certificateApp("com.example.app"), certificateApp("com.example.other"), fixture.app("com.example.third"),
        ]
        try fixture.sender.use(apps)
        #expect(fixture.transport.pools.count == 6)
        #expect(fixture.transport.pools.count { $0.configuration.identity != nil } == 4)
        #expect(Set(fixture.sender.upstreams.map(\.name)).count == 6)
        let names = fixture.sender.upstreams.map(\.name)
        #expect(names.contains { $0.hasPrefix("api.push.apple.com:443 certificate com.example.other/") })
        let batch = try apps.enumerated().map { number, app in
            try makePush(Int64(number), app: app.app.rawValue, content: content(to: app.app.rawValue))
        }
        #expect(await fixture.send(batch).allSatisfy { $0 == .accepted })
        let used = fixture.transport.pools.filter { !$0.requests.isEmpty }
        #expect(used.map(\.requests.count) == [1, 1, 1])
    }

    @Test func `A renewed certificate gets a new pool, and the old one finishes`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([certificateApp("com.example.app", endpoints: [.production])])
        #expect(await fixture.send([try makePush()]) == [.accepted])
        try fixture.sender.use([certificateApp("com.example.app", endpoints: [.production])])
        let pools = fixture.transport.pools
        #expect(pools.count == 2)
        await pools[0].waitUntilClosed()
        #expect(await fixture.send([try makePush()]) == [.accepted])
        #expect(pools.map(\.requests.count) == [1, 1])
    }

    @Test func `The same certificate read again keeps its pool`() async throws {
        let fixture = SenderFixture()
        let app = try certificateApp("com.example.app", endpoints: [.production])
        try fixture.sender.use([app])
        try fixture.sender.use([app])
        #expect(fixture.transport.pools.count == 1)
    }

    @Test func `A topic that the certificate does not have is refused here, for its push alone`() async throws {
        let fixture = SenderFixture()
        try fixture.sender.use([certificateApp("com.example.app", endpoints: [.production])])
        let types: [PushType] = [.alert, .voip, .location, .widgets, .controls, .liveactivity, .background]
        let batch = try types.enumerated().map { try makePush(Int64($0), content: makeContent(pushType: $1)) }
        let refusal = Outcome.rejected(.topicDisallowed)
        #expect(
            await fixture.send(batch) == [.accepted, refusal, refusal, refusal, refusal, .accepted, .accepted])
        #expect(fixture.transport.pools.flatMap(\.requests).count == 3)
    }

    private func content(to topic: String) -> ApplePush {
        ApplePush(
            payload: Array("{}".utf8), pushType: .alert, topic: topic, priority: .immediate, expiration: .once,
            collapseID: nil, id: nil, registrationIDOffset: nil)
    }

    private func certificateApp(
        _ app: String, endpoints: [PushEnvironment] = [.production, .sandbox]
    ) throws -> APNSAppConfiguration {
        let made = try simulator.pushCertificate(topics: [app])
        return APNSAppConfiguration(
            project: try #require(ProjectID(rawValue: "demo")), app: try #require(AppID(rawValue: app)),
            credential: .certificate(
                try ClientIdentity(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM, password: nil)),
            endpoints: Dictionary(uniqueKeysWithValues: endpoints.map { ($0, .apple($0)) }), trustFile: nil)
    }
}

/// Certificates over real sockets: our client (nghttp2, OpenSSL) against the simulator (swift-nio, BoringSSL).
@Suite(.timeLimit(.minutes(2)))
struct CertificateSimulatorTests {
    @Test func `Pushes arrive without a provider token`() async throws {
        try await withSimulator { simulator, made, way in
            try way.use(made.pushCertificate(topics: ["com.example.app", "com.example.app.voip"]))
            let contents = [makeContent(), makeContent(pushType: .voip), makeContent(pushType: .liveactivity)]
            let batch = try (0..<300).map { try makePush(Int64($0), content: contents[$0 % 3]) }
            #expect(await way.outcomes(of: batch).allSatisfy { $0 == .accepted })
            #expect(simulator.recording.pushes.count == 300)
            let topics = Set(simulator.recording.pushes.compactMap { $0.headers["apns-topic"] })
            #expect(
                topics == ["com.example.app", "com.example.app.voip", "com.example.app.push-type.liveactivity"])
            #expect(simulator.statistics.streamViolations == 0)
        }
    }

    @Test func `What APNs has against a certificate is a problem of the upstream`() async throws {
        let log = LogCapture.Lines()
        try await withSimulator(logger: Logger(label: "test") { _ in LogCapture(lines: log) }) { simulator, made, way in
            try way.use(made.pushCertificate(topics: ["com.example.app"]))
            let push = try makePush()
            simulator.rules.set(Rule(.reject(status: 403, reason: "BadCertificate")), for: push.deviceToken.hex)
            #expect(await way.outcomes(of: [push]) == [.throttled(.badCertificate, after: nil)])
            #expect(log.all.contains { $0.contains("pushes are held back") && $0.contains("reason=BadCertificate") })
        }
    }

    @Test func `A peer that does not ask for the certificate misses the token`() async throws {
        try await withSimulator(asksForCertificates: false) { _, made, way in
            try way.use(made.pushCertificate(topics: ["com.example.app"]))
            let outcomes = await way.outcomes(of: [try makePush()])
            #expect(outcomes == [.throttled(.missingProviderToken, after: nil)])
        }
    }

    @Test func `A token still works where certificates are welcome`() async throws {
        try await withSimulator { _, made, way in
            let key = try ES256PrivateKey(pem: String(contentsOfFile: made.keyFile, encoding: .utf8))
            try way.use(.providerKey(teamID: made.teamID, keyID: made.keyID, key: key))
            #expect(await way.outcomes(of: [try makePush()]) == [.accepted])
        }
    }

    @Test func `An expired certificate is refused by TLS, and the failure says so`() async throws {
        try await withSimulator { simulator, made, way in
            let pair = try made.pushCertificate(topics: ["com.example.app"], validity: -86_400...(-60))
            #expect(try await failure(with: pair, way).contains("certificate expired"))
            #expect(simulator.recording.pushes.isEmpty)
        }
    }

    @Test func `A certificate of another authority is refused by TLS`() async throws {
        let directory = try TestDirectory()
        let stranger = try SimulatorIdentity(directory: directory.file("stranger"), topics: [])
        try await withSimulator { simulator, _, way in
            let pair = try stranger.pushCertificate(topics: ["com.example.app"])
            #expect(try await failure(with: pair, way).contains("unknown ca"))
            #expect(simulator.recording.pushes.isEmpty)
        }
    }

    /// Why the first connection ends over which a request should go.
    private func failure(with pair: (certificatePEM: String, keyPEM: String), _ way: Way) async throws -> String {
        let identity = try ClientIdentity(certificatePEM: pair.certificatePEM, keyPEM: pair.keyPEM, password: nil)
        var configuration = PoolConfiguration(host: "127.0.0.1", port: way.port)
        configuration.trust = .file(way.trustFile)
        configuration.identity = APNSCredential.certificate(identity).identity?.forPool
        let (ends, end) = AsyncStream.makeStream(of: String.self)
        let engine = HTTP2Engine(loopCount: 1, logger: Logger(label: "test") { _ in ClosedConnections(told: end) })
        let pool = try engine.openPool(configuration)
        let request = Request(method: "POST", path: "/3/device/00", headers: [], body: [], isUrgent: false)
        await pool.submit([request]) { _ in }
        let reason = await ends.first { _ in true }
        await engine.shutdown(within: .zero)
        return reason ?? ""
    }

    /// Runs a simulator and a sender, and ends both.
    private func withSimulator(
        asksForCertificates: Bool = true,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (SimulatedAPNS, SimulatorIdentity, Way) async throws -> Void
    ) async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
        var configuration = SimulatedAPNS.Configuration(identity: identity) {
            Int64(Date().timeIntervalSince1970 * 1000)
        }
        configuration.port = 0
        configuration.clientCAFile = asksForCertificates ? identity.caFile : nil
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let simulator = SimulatedAPNS(configuration, logger: logger) { bound, _ in port.yield(bound) }
        let run = Task {
            do {
                try await simulator.run()
            } catch is CancellationError {
                // The test is over.
            }
        }
        let bound = try #require(await ports.first { _ in true })
        let way = Way(port: bound, trustFile: identity.caFile, logger: logger)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(simulator, identity, way))
        } catch {
            result = .failure(error)
        }
        await way.sender.shutdown(within: .zero)
        run.cancel()
        try await run.value
        try result.get()
    }
}

/// A sender and where its pushes go.
private struct Way {
    let port: Int
    let trustFile: String
    let sender: APNSSender

    init(port: Int, trustFile: String, logger: Logger) {
        self.port = port
        self.trustFile = trustFile
        sender = APNSSender(
            loopCount: 1, wallTime: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) },
            logger: logger)
    }

    func use(_ pair: (certificatePEM: String, keyPEM: String)) throws {
        try use(
            .certificate(
                try ClientIdentity(certificatePEM: pair.certificatePEM, keyPEM: pair.keyPEM, password: nil)))
    }

    func use(_ credential: APNSCredential) throws {
        try sender.use([
            APNSAppConfiguration(
                project: try #require(ProjectID(rawValue: "demo")),
                app: try #require(AppID(rawValue: "com.example.app")), credential: credential,
                endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: port)], trustFile: trustFile)
        ])
    }

    func outcomes(of batch: [Push]) async -> [Outcome?] {
        let collector = ReportCollector(of: batch.count)
        await sender.send(batch) { collector.take($0) }
        await collector.wait(for: batch.count)
        return collector.outcomes
    }
}

/// Tells of each connection that the engine closes.
private struct ClosedConnections: LogHandler {
    let told: AsyncStream<String>.Continuation
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.message == "closed" { told.yield("\(event.metadata?["details"] ?? "")") }
    }
}
