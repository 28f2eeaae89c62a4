import NIOHTTP1
import Simulators
import Testing

@Suite("The simulated APNs plays both hosts of channels", .timeLimit(.minutes(5)))
struct ChannelTests {
    private static let app = "com.example.app"
    private static let update = #"{"aps":{"timestamp":1,"event":"update","content-state":{"score":1}}}"#

    /// Runs beside a simulator with a management host.
    private func run(_ body: (SimulatorHarness) async throws -> Void) async throws {
        try await SimulatorHarness.run(configure: { $0.channelPort = 0 }, body)
    }

    /// A request to the management host.
    private func manage(
        _ harness: SimulatorHarness, _ method: HTTPMethod, _ path: String = "channels", channel: String? = nil,
        body: String = ""
    ) async throws -> PushAnswer {
        var request = TestPush()
        request.method = method
        request.path = "/1/apps/\(Self.app)/\(path)"
        request.headers = channel.map { [("apns-channel-id", $0)] } ?? []
        request.body = body
        let port = try #require(harness.simulator.channelPort)
        return try await harness.send(request, port: port)
    }

    private func create(_ harness: SimulatorHarness, policy: Int = 1) async throws -> String {
        let answer = try await manage(
            harness, .POST, body: "{\"message-storage-policy\":\(policy),\"push-type\":\"LiveActivity\"}")
        #expect(answer.status == 201)
        #expect(answer.body.isEmpty)
        #expect(answer.headers["apns-request-id"].count == 1)
        return try #require(answer.headers["apns-channel-id"].first)
    }

    /// A publication that is in order.
    private func broadcast(_ channel: String, expiration: String = "0") -> TestPush {
        var push = TestPush()
        push.path = "/4/broadcasts/apps/\(Self.app)"
        push.headers = [
            ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-expiration", expiration),
            ("apns-priority", "10"), ("apns-request-id", "ec1bf194-b3b2-424a-89a9-5a918a6e6b5d"),
        ]
        push.body = Self.update
        return push
    }

    @Test("A channel is made, read, listed, published to and deleted")
    func wholeLife() async throws {
        try await run { harness async throws in
            let channel = try await create(harness)
            let read = try await manage(harness, .GET, channel: channel)
            #expect(read.status == 200)
            #expect(read.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
            let list = try await manage(harness, .GET, "all-channels")
            #expect(list.body.contains(channel))
            let published = try await harness.send(broadcast(channel))
            #expect(published.status == 200)
            #expect(published.headers["apns-request-id"] == ["ec1bf194-b3b2-424a-89a9-5a918a6e6b5d"])
            #expect(published.headers["apns-id"].isEmpty)
            #expect(harness.simulator.channels.entries(of: Self.app).first?.stored == Self.update)
            #expect(try await manage(harness, .DELETE, channel: channel).status == 204)
            #expect(harness.simulator.channels.ids(of: Self.app).isEmpty)
            #expect(try await manage(harness, .GET, channel: channel).reason == "ChannelNotRegistered")
            let statistics = harness.simulator.statistics
            #expect(statistics.pushes == 1 && statistics.accepted == 1 && statistics.managementRequests == 5)
            #expect(
                harness.simulator.recording.pushes.map(\.channelRequest) == [
                    "POST /1/apps/\(Self.app)/channels", "GET /1/apps/\(Self.app)/channels",
                    "GET /1/apps/\(Self.app)/all-channels", "POST /4/broadcasts/apps/\(Self.app)",
                    "DELETE /1/apps/\(Self.app)/channels", "GET /1/apps/\(Self.app)/channels",
                ])
        }
    }

    @Test("A publication is checked in the order of Apple's table: each fault hides those behind it")
    func order() async throws {
        try await run { harness async throws in
            let channel = try await create(harness, policy: 0)
            var push = broadcast("AAAA", expiration: "x").setting("apns-channel-id", nil)
                .setting("apns-push-type", nil).setting("apns-priority", nil)
            push.body = ""
            let steps: [(String, (inout TestPush) -> Void)] = [
                ("MissingChannelId", { $0 = $0.setting("apns-channel-id", "AAAA") }),
                ("MissingPushType", { $0 = $0.setting("apns-push-type", "alert") }),
                ("InvalidPushType", { $0 = $0.setting("apns-push-type", "liveactivity") }),
                ("BadExpirationDate", { $0 = $0.setting("apns-expiration", "1") }),
                ("BadPriority", { $0 = $0.setting("apns-priority", "1") }),
                ("ChannelNotRegistered", { $0 = $0.setting("apns-channel-id", channel) }),
                // Nothing is stored, so there is nothing to keep until then.
                ("BadExpirationDate", { $0 = $0.setting("apns-expiration", "0") }),
                ("PayloadEmpty", { $0.body = "{\"aps\":{}}" + String(repeating: " ", count: 5111) }),
                ("PayloadTooLarge", { $0.body.removeLast() }),
            ]
            for (reason, mend) in steps {
                #expect(try await harness.send(push).reason == reason)
                mend(&push)
            }
            #expect(push.body.utf8.count == 5120)
            #expect(try await harness.send(push).status == 200)
            #expect(try await harness.send(push.setting("apns-channel-id", "%")).reason == "BadChannelId")
        }
    }

    @Test("Requests of the management host are checked")
    func management() async throws {
        try await run { harness async throws in
            let bodies = [
                "", "[]", #"{"push-type":"LiveActivity"}"#, #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#,
            ]
            for body in bodies {
                let answer = try await manage(harness, .POST, body: body)
                #expect(answer.status == 400 && answer.reason == "BadRequestPayload")
            }
            #expect(try await manage(harness, .PUT).status == 405)
            #expect(try await manage(harness, .GET, "channels/AAAA").reason == "BadPath")
            #expect(try await manage(harness, .DELETE).reason == "MissingChannelId")
            #expect(try await manage(harness, .DELETE, channel: "AAAA").reason == "ChannelNotRegistered")
            let port = try #require(harness.simulator.channelPort)
            #expect(try await harness.send(TestPush(), port: port).reason == "BadPath")
            var other = TestPush()
            other.method = .GET
            other.body = ""
            other.path = "/1/apps/com.example.other/all-channels"
            #expect(try await harness.send(other, port: port).reason == "TopicMismatch")
            harness.simulator.channels.setLimit(1)
            _ = try await create(harness)
            let full = try await manage(
                harness, .POST, body: #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
            #expect(full.status == 400 && full.reason == "CannotCreateChannelConfig")
            harness.simulator.channels.setEnabled(false, for: Self.app)
            #expect(try await manage(harness, .GET, "all-channels").reason == "FeatureNotEnabled")
        }
    }

    @Test("Rules hold for channels and for the management host")
    func rules() async throws {
        try await run { harness async throws in
            let channel = try await create(harness)
            harness.simulator.rules.set(
                Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 1), forChannel: channel)
            #expect(try await harness.send(broadcast(channel)).status == 503)
            #expect(harness.simulator.channels.entries(of: Self.app).first?.stored == nil)
            #expect(try await harness.send(broadcast(channel)).status == 200)
            harness.simulator.rules.setManagement(Rule(.reject(status: 429, reason: "TooManyRequests"), times: 1))
            #expect(try await manage(harness, .DELETE, channel: channel).status == 429)
            #expect(harness.simulator.channels.ids(of: Self.app) == [channel])
        }
    }

    @Test("A list of ten thousand channels arrives in full")
    func longList() async throws {
        try await run { harness async throws in
            for _ in 0..<ChannelBook.standardLimit {
                _ = harness.simulator.channels.make(for: Self.app, storagePolicy: 0)
            }
            #expect(harness.simulator.channels.make(for: Self.app, storagePolicy: 0) == nil)
            let list = try await manage(harness, .GET, "all-channels")
            #expect(list.body.utf8.filter { $0 == UInt8(ascii: ",") }.count == ChannelBook.standardLimit - 1)
        }
    }
}
