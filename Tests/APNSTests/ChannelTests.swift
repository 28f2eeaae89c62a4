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

/// Broadcast channels over real sockets, against the simulator's two hosts.
@Suite(.timeLimit(.minutes(5)))
struct ChannelTests {
    private static let app = "com.example.app"
    private let home = ChannelHome(
        project: ProjectID(rawValue: "demo")!, app: AppID(rawValue: app)!, environment: .production)

    @Test func `A channel is made, read, listed and deleted at the management host`() async throws {
        try await withSimulator { simulator, client, _ in
            let id = try await client.create(.none, in: home).get()
            #expect(simulator.channels.ids(of: Self.app) == [id.rawValue])
            #expect(try await client.storagePolicy(of: id, in: home).get() == .none)
            let second = try await client.create(.mostRecent, in: home).get()
            #expect(try await client.channels(in: home).get() == [id, second])
            try await client.delete(id, in: home).get()
            #expect(try await client.channels(in: home).get() == [second])
            let failure = await client.delete(id, in: home).failure
            #expect(failure?.isUnknownChannel == true)
        }
    }

    @Test func `A list of ten thousand channels is read whole`() async throws {
        try await withSimulator { simulator, client, _ in
            for _ in 0..<ChannelBook.standardLimit { _ = simulator.channels.make(for: Self.app, storagePolicy: 1) }
            let listed = try await client.channels(in: home).get()
            #expect(listed.count == ChannelBook.standardLimit)
            let refusal = Refusal(.cannotCreateChannelConfig, .load(.unspecified))
            #expect(await client.create(.none, in: home).failure?.cause == .refused(refusal))
        }
    }

    @Test func `Refusals, silence and a missing way are failures with a cause`() async throws {
        try await withSimulator { simulator, client, _ in
            simulator.rules.setManagement(Rule(.reject(status: 429, reason: "TooManyRequests"), times: 1))
            let busy = await client.channels(in: home).failure
            #expect(busy?.cause == .refused(Refusal(.tooManyRequests, .load(.address))))
            simulator.channels.setEnabled(false, for: Self.app)
            let off = await client.create(.none, in: home).failure
            #expect(off?.cause == .refused(Refusal(.featureNotEnabled, .topic)) && off?.meaning != nil)
            simulator.channels.setEnabled(true, for: Self.app)
            // Done, and never answered.
            simulator.rules.setManagement(Rule(.neverAnswer, times: 1))
            let (client, home) = (client, home)
            let silent = Task { await client.create(.none, in: home) }
            await simulator.recording.wait(untilCount: 3)
            await client.shutdown(within: .zero)
            let silence = await silent.value.failure
            #expect(silence?.cause == .unknown(.shutdown))
            #expect(simulator.channels.ids(of: Self.app).count == 1)
            var elsewhere = home
            elsewhere.app = AppID(rawValue: "com.example.other")!
            #expect(await client.channels(in: elsewhere).failure?.cause == .notSent(.noRoute))
        }
    }

    @Test func `A publication is one request with the channel in its header`() async throws {
        try await withSimulator { simulator, _, sender in
            let stored = try #require(simulator.channels.make(for: Self.app, storagePolicy: 1))
            let live = try #require(simulator.channels.make(for: Self.app, storagePolicy: 0))
            let pushes = try [push(to: stored, .mostRecent), push(to: live, .none)]
            #expect(await outcomes(of: pushes, over: sender) == [.accepted, .accepted])
            let arrived = simulator.recording.pushes
            #expect(arrived.allSatisfy { $0.channelRequest == "POST /4/broadcasts/apps/\(Self.app)" })
            let byChannel = Dictionary(uniqueKeysWithValues: arrived.map { ($0.headers["apns-channel-id"] ?? "", $0) })
            let first = try #require(byChannel[stored])
            #expect(first.headers["apns-request-id"] == pushes[0].id.rawValue)
            #expect(first.headers["apns-push-type"] == "liveactivity" && first.headers["apns-priority"] == "10")
            #expect(first.headers["apns-topic"] == nil && first.headers["apns-collapse-id"] == nil)
            #expect(first.headers["apns-expiration"] != "0")
            #expect(byChannel[live]?.headers["apns-expiration"] == "0")
            #expect(sender.upstreams.contains { $0.name.hasSuffix(" broadcasts") && !$0.routes.isEmpty })
        }
    }

    @Test func `A channel that is gone is a dead address, an overload is one of the service`() async throws {
        try await withSimulator { simulator, _, sender in
            let id = try #require(simulator.channels.make(for: Self.app, storagePolicy: 1))
            simulator.rules.set(Rule(.reject(status: 429, reason: "TooManyRequests"), times: 1), forChannel: id)
            let push = try push(to: id, .mostRecent)
            #expect(
                await outcomes(of: [push], over: sender)
                    == [.throttled(Refusal(.tooManyRequests, .load(.service)), after: nil)])
        }
        try await withSimulator { _, _, sender in
            let push = try push(to: "AAAA", .mostRecent)
            #expect(
                await outcomes(of: [push], over: sender)
                    == [.rejected(Refusal(.channelNotRegistered, .addressDead(since: nil)))])
        }
    }

    /// Of one channel, and of no other: the rest waits here, where it costs nothing.
    @Test func `A channel gets no more publications a minute than were asked for`() async throws {
        try await withSimulator(publicationLimit: 3) { simulator, _, sender in
            let busy = try #require(simulator.channels.make(for: Self.app, storagePolicy: 1))
            let other = try #require(simulator.channels.make(for: Self.app, storagePolicy: 0))
            var pushes: [Push] = []
            for _ in 0..<4 { pushes.append(try push(to: busy, .mostRecent)) }
            pushes.append(try push(to: other, .none))
            let outcomes = await outcomes(of: pushes, over: sender)
            #expect(outcomes.count { $0 == .accepted } == 4 && outcomes.last == .accepted)
            guard case .throttled(let refusal, let after?)? = outcomes.first(where: { $0 != .accepted }) ?? nil else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(refusal.reason == .tooManyRequests && refusal.scope == .load(.address))
            #expect(after > .zero && after <= .seconds(60))
            #expect(simulator.recording.pushes.count { $0.headers["apns-channel-id"] == busy } == 3)
        }
    }

    @Test func `A missing capability holds back broadcasts and no device`() async throws {
        try await withSimulator { simulator, _, sender in
            simulator.channels.setEnabled(false, for: Self.app)
            let refused = await outcomes(of: [try push(to: "AAAA", .mostRecent)], over: sender)
            #expect(refused == [.rejected(Refusal(.featureNotEnabled, .topic))])
            let mixed = try [push(to: "AAAA", .mostRecent), makePush(7)]
            let outcomes = await outcomes(of: mixed, over: sender)
            #expect(outcomes[1] == .accepted)
            guard case .throttled(let refusal, _) = outcomes[0] else {
                Issue.record("\(String(describing: outcomes[0]))")
                return
            }
            #expect(refusal.reason == .featureNotEnabled)
            #expect(simulator.statistics.pushes == 2)
            #expect(sender.heldRoutes.isEmpty)
        }
    }

    // MARK: Pushes to a channel

    private func push(to channel: String, _ policy: StoragePolicy) throws -> Push {
        let address = BroadcastAddress(
            id: try #require(ChannelID(rawValue: channel)), environment: .production, storagePolicy: policy)
        let content = ApplePush(
            payload: Array(#"{"aps":{"event":"update"}}"#.utf8), pushType: .liveactivity,
            topic: Self.app + ".push-type.liveactivity", priority: .immediate,
            expiration: .until(Timestamp(milliseconds: now() + 60_000)), collapseID: nil, id: nil,
            registrationIDOffset: nil)
        return Push(
            route: PushRoute(project: home.project, app: home.app, channel: .broadcast(.production)),
            lane: .interactive, address: .broadcast(address), isProven: true, content: content,
            payload: content.payload, id: PushID(seed: 7, registration: RegistrationKey(rawValue: Int64(channel.count)))
        )
    }

    private func outcomes(of batch: [Push], over sender: APNSSender) async -> [Outcome?] {
        let collector = ReportCollector(of: batch.count)
        await sender.send(batch) { collector.take($0) }
        await collector.wait(for: batch.count)
        return collector.outcomes
    }

    /// Runs a simulator of both hosts with a client and a sender that reach it, and ends all.
    private func withSimulator(
        publicationLimit: Int? = nil, _ body: (SimulatedAPNS, APNSChannelClient, APNSSender) async throws -> Void
    ) async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
        var configuration = SimulatedAPNS.Configuration(identity: identity, wallTimeMilliseconds: now)
        configuration.port = 0
        configuration.channelPort = 0
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let simulator = SimulatedAPNS(configuration, logger: quiet) { bound, _ in port.yield(bound) }
        let wallTime: WallTime = { Timestamp(milliseconds: now()) }
        let sender = APNSSender(
            transport: EngineTransport(engine: HTTP2Engine(loopCount: 1, logger: quiet)), wallTime: wallTime,
            uptime: realUptime(), logger: quiet)
        let client = APNSChannelClient(wallTime: wallTime, logger: quiet)
        let key = try ES256PrivateKey(pem: String(contentsOfFile: identity.keyFile, encoding: .utf8))
        let run = Task {
            do {
                try await simulator.run()
            } catch is CancellationError {
                // The test is over.
            }
        }
        let bound = try #require(await ports.first { _ in true })
        var app = APNSAppConfiguration(
            project: home.project, app: home.app, teamID: identity.teamID, keyID: identity.keyID, key: key,
            endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: bound)], trustFile: identity.caFile)
        app.publicationLimit = publicationLimit
        app.channelEndpoints = [
            .production: UpstreamEndpoint(host: "127.0.0.1", port: simulator.channelPort ?? 0)
        ]
        let result: Result<Void, any Error>
        do {
            try sender.use([app])
            client.use([app])
            result = .success(try await body(simulator, client, sender))
        } catch {
            result = .failure(error)
        }
        await client.shutdown(within: .seconds(1))
        await sender.shutdown(within: .seconds(1))
        run.cancel()
        try await run.value
        try result.get()
    }
}

extension Result {
    /// The failure; `nil` after a success.
    fileprivate var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}

/// The real wall time, which the simulator holds against `iat`.
@Sendable private func now() -> Int64 {
    Int64(Date().timeIntervalSince1970 * 1000)
}
