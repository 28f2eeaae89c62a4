import FCMWire
import Foundation
import HTTP2Client
import Logging
import PushModel
import Signing
import Simulators
import Synchronization
import TestSupport
import Testing

@testable import APNS
@testable import Upstream

/// The sender over real sockets: our client (nghttp2, OpenSSL) against the simulator (swift-nio, BoringSSL).
@Suite(.timeLimit(.minutes(5)))
struct SimulatorTests {
    @Test func `A thousand pushes arrive, each once, as they were sent`() async throws {
        try await withSimulator { simulator, sender in
            let contents = [makeContent(), makeContent(priority: .conserving, collapseID: "scores")]
            let batch = try (0..<1000).map { try makePush(Int64($0), content: contents[$0 % 2]) }
            #expect(await outcomes(of: batch, over: sender).allSatisfy { $0 == .accepted })
            let pushes = simulator.recording.pushes
            #expect(pushes.count == 1000)
            let byToken = Dictionary(grouping: pushes, by: \.deviceToken)
            for (index, push) in batch.enumerated() {
                let arrivals = byToken[push.deviceToken.hex] ?? []
                #expect(arrivals.count == 1)
                #expect(arrivals.first?.headers["apns-id"] == push.id.rawValue)
                #expect(arrivals.first?.headers["apns-priority"] == (index % 2 == 0 ? "10" : "5"))
                #expect(arrivals.first?.headers["apns-collapse-id"] == (index % 2 == 0 ? nil : "scores"))
                #expect(arrivals.first?.payload == String(decoding: push.payload, as: UTF8.self))
            }
            let status = try #require(sender.upstreams.first)
            #expect(status.isReachable && status.connections > 0)
        }
    }

    @Test func `Every kind of answer becomes its outcome`() async throws {
        try await withSimulator { simulator, sender in
            let batch = try (0..<4).map { try makePush(Int64($0)) }
            simulator.rules.set(Rule(.unregistered(since: 1_700_000_000_123)), for: batch[0].deviceToken.hex)
            simulator.rules.set(
                Rule(.reject(status: 400, reason: "BadDeviceToken")), for: batch[1].deviceToken.hex)
            simulator.rules.set(
                Rule(.reject(status: 429, reason: "TooManyRequests")), for: batch[2].deviceToken.hex)
            let outcomes = await outcomes(of: batch, over: sender)
            #expect(
                outcomes[0]
                    == .rejected(.unregistered(since: Timestamp(milliseconds: 1_700_000_000_123))))
            #expect(outcomes[1] == .rejected(.badDeviceToken))
            #expect(outcomes[2] == .throttled(.tooManyRequests, after: nil))
            #expect(outcomes[3] == .accepted)
        }
    }

    @Test func `A push without an answer ends as unknown when the gateway stops`() async throws {
        try await withSimulator { simulator, sender in
            let push = try makePush()
            simulator.rules.set(Rule(.neverAnswer), for: push.deviceToken.hex)
            let collector = ReportCollector(of: 1)
            await sender.send([push]) { collector.take($0) }
            await simulator.recording.wait(untilCount: 1)
            await sender.shutdown(within: .milliseconds(100))
            await collector.wait(for: 1)
            #expect(collector.outcomes == [.unknown(.shutdown)])
        }
    }

    @Test func `A key that the peer does not know is a refusal that may pass`() async throws {
        try await withSimulator(teamID: "UNKNOWN123") { _, sender in
            let outcomes = await outcomes(of: [try makePush()], over: sender)
            #expect(outcomes == [.throttled(.invalidProviderToken, after: nil)])
        }
    }

    @Test func `A clock that is corrected ends the refusals of an expired token`() async throws {
        let time = TestTime(Timestamp(milliseconds: now() - 2 * 3_600_000))
        try await withSimulator(wallTime: time.wallTime) { _, sender in
            let push = try makePush()
            let refused = await outcomes(of: [push], over: sender)
            #expect(refused == [.throttled(.expiredProviderToken, after: nil)])
            time.advance(by: .seconds(2 * 3600))
            #expect(await outcomes(of: [push], over: sender) == [.accepted])
        }
    }

    @Test func `Pushes go through a proxy when there is one`() async throws {
        let relays = Mutex<[TCPRelay]>([])
        let success = "HTTP/1.1 200 Connection established\r\n\r\n"
        try await withSimulator(proxy: { port in
            let relay = try TCPRelay(to: port, .proxy(answer: success, then: nil))
            relays.withLock { $0.append(relay) }
            return UpstreamProxy(host: "127.0.0.1", port: relay.port, credentials: .init(user: "anna", password: "pw"))
        }) { simulator, sender in
            let batch = try (0..<100).map { try makePush(Int64($0)) }
            #expect(await outcomes(of: batch, over: sender).allSatisfy { $0 == .accepted })
            #expect(simulator.recording.pushes.count == 100)
            let relay = try #require(relays.withLock { $0.first })
            #expect(relay.accepted > 0 && relay.heads.count == relay.accepted)
            #expect(relay.heads.allSatisfy { $0.contains("Proxy-Authorization: Basic YW5uYTpwdw==\r\n") })
            let status = try #require(sender.upstreams.first)
            #expect(status.name.hasSuffix(" via 127.0.0.1:\(relay.port)"))
        }
    }

    private func outcomes(of batch: [Push], over sender: APNSSender) async -> [Outcome?] {
        let collector = ReportCollector(of: batch.count)
        await sender.send(batch) { collector.take($0) }
        await collector.wait(for: batch.count)
        return collector.outcomes
    }

    /// Runs a simulator and a sender that reaches it, and ends both.
    private func withSimulator(
        teamID: String? = nil, wallTime: @escaping WallTime = { Timestamp(milliseconds: now()) },
        proxy: (_ port: Int) throws -> UpstreamProxy? = { _ in nil },
        _ body: (SimulatedAPNS, APNSSender) async throws -> Void
    ) async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
        var configuration = SimulatedAPNS.Configuration(identity: identity, wallTimeMilliseconds: now)
        configuration.port = 0
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let simulator = SimulatedAPNS(configuration, logger: quiet) { bound, _ in port.yield(bound) }
        let sender = APNSSender(
            transport: EngineTransport(engine: HTTP2Engine(loopCount: 1, logger: quiet)), wallTime: wallTime,
            uptime: realUptime(), logger: quiet)
        let key = try ES256PrivateKey(pem: String(contentsOfFile: identity.keyFile, encoding: .utf8))
        let run = Task {
            do {
                try await simulator.run()
            } catch is CancellationError {
                // The test is over.
            }
        }
        let bound = try #require(await ports.first { _ in true })
        let result: Result<Void, any Error>
        do {
            try sender.use([
                APNSAppConfiguration(
                    project: try #require(ProjectID(rawValue: "demo")),
                    app: try #require(AppID(rawValue: "com.example.app")), teamID: teamID ?? identity.teamID,
                    keyID: identity.keyID, key: key,
                    endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: bound)],
                    trustFile: identity.caFile, proxies: try proxy(bound).map { [.production: $0] } ?? [:])
            ])
            result = .success(try await body(simulator, sender))
        } catch {
            result = .failure(error)
        }
        await sender.shutdown(within: .seconds(1))
        run.cancel()
        try await run.value
        try result.get()
    }
}

/// The real wall time, which the simulator holds against `iat`.
@Sendable private func now() -> Int64 {
    Int64(Date().timeIntervalSince1970 * 1000)
}
