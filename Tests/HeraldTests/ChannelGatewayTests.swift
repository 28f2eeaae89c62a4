import Foundation
import Simulators
import TestSupport
import Testing

/// Broadcast channels through a whole gateway process, over real sockets to both simulated hosts.
@Suite("Channels through a whole gateway", .timeLimit(.minutes(5)))
struct ChannelGatewayTests {
    private static let app = "com.example.app"
    private static let update =
        #"{"apns":{"headers":{"apns-push-type":"liveactivity"},"payload":{"aps":{"timestamp":1700000000,"#
        + #""event":"update","content-state":{"score":"1:0"}}}}}"#

    private static func body(_ channel: String, more: String = "") -> String {
        #"{"message":\#(update),"target":{"channel":"\#(channel)"}\#(more)}"#
    }

    private static func create(_ name: String, _ api: APIClient) async throws -> String {
        let answer = try await api.post("/v1/projects/demo/channels", #"{"name":"\#(name)"}"#)
        return try #require(try answer.json["channelId"] as? String, "\(answer.text)")
    }

    /// Broadcasts that arrived, in their order.
    private static func broadcasts(_ test: GatewayUnderTest) -> [RecordedPush] {
        test.simulator.recording.pushes.filter { $0.channelRequest == "POST /4/broadcasts/apps/\(app)" }
    }

    @Test("A publication is one request to APNs and one entry in the ledger")
    func publication() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let id = try await Self.create("match-42", api)
            #expect(test.simulator.channels.ids(of: Self.app) == [id])
            let answer = try await api.post(
                "/v1/projects/demo/messages:send", Self.body("match-42", more: #","delivery":{"wait":"30s"}"#))
            #expect(try answer.json["outcome"] as? String == "ACCEPTED", "\(answer.text)")
            let arrived = Self.broadcasts(test)
            #expect(arrived.count == 1)
            #expect(arrived.first?.headers["apns-channel-id"] == id)
            #expect(test.simulator.channels.entries(of: Self.app).first?.stored == arrived.first?.payload)
            let name = try #require(try answer.json["name"] as? String)
            let report = try await api.get("/v1/\(name)").json
            #expect((report["ledger"] as? [String: Int])?["accepted"] == 1)
            #expect((report["channel"] as? [String: Any])?["name"] as? String == "match-42")
            let deliveries = try await api.get("/v1/\(name)/deliveries").json["deliveries"] as? [[String: Any]]
            #expect(deliveries?.count == 1)
            #expect(deliveries?.first?["apnsId"] as? String == arrived.first?.headers["apns-request-id"])
            await process.end(with: SIGTERM)
        }
    }

    @Test("A publication that waits survives kill -9, and goes out once with the id of its first attempt")
    func killed() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let id = try await Self.create("match", api)
            test.simulator.rules.set(Rule(.neverAnswer, times: 1), forChannel: id)
            _ = try await api.post("/v1/projects/demo/messages:send", Self.body("match"))
            // Making the channel and the first attempt.
            await test.simulator.recording.wait(untilCount: 2)
            await process.end(with: SIGKILL)
            let next = try await test.start()
            await test.simulator.recording.wait(untilCount: 3)
            let arrived = Self.broadcasts(test)
            #expect(arrived.map(\.status) == [0, 200])
            #expect(Set(arrived.compactMap { $0.headers["apns-request-id"] }).count == 1)
            await next.end(with: SIGTERM)
        }
    }

    @Test("A channel that was made right before a kill is found again and taken over")
    func killedWhileMaking() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            test.simulator.rules.setManagement(Rule(.neverAnswer, times: 1))
            let creation = Task { try await Self.create("match", api) }
            await test.simulator.recording.wait(untilCount: 1)
            await process.end(with: SIGKILL)
            _ = await creation.result
            let id = try #require(test.simulator.channels.ids(of: Self.app).first)
            let next = try await test.start()
            let again = APIClient(baseURL: next.baseURL, key: test.keys.sender)
            let list = try await again.get("/v1/projects/demo/channels").json
            #expect((list["channels"] as? [[String: Any]])?.first?["state"] as? String == "CREATING")
            #expect((list["apple"] as? [String: Any])?["unknown"] as? [String] == [id])
            let adopted = try await again.post(
                "/v1/projects/demo/channels", #"{"name":"match","channelId":"\#(id)"}"#)
            #expect(try adopted.json["state"] as? String == "ACTIVE", "\(adopted.text)")
            #expect(test.simulator.channels.ids(of: Self.app) == [id])
            await next.end(with: SIGTERM)
        }
    }

    @Test("A publication to a channel that Apple lost is refused, and the channel is lost since")
    func lost() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let id = try await Self.create("match", api)
            test.simulator.channels.remove(id, of: Self.app)
            let refused = try await api.post(
                "/v1/projects/demo/messages:send", Self.body("match", more: #","delivery":{"wait":"30s"}"#))
            #expect(refused.status == 400 && refused.text.contains("CHANNEL_UNUSABLE"), "\(refused.text)")
            let again = try await api.post("/v1/projects/demo/messages:send", Self.body("match"))
            #expect(again.status == 400 && again.text.contains("CHANNEL_UNUSABLE"), "\(again.text)")
            #expect(try await api.get("/v1/projects/demo/channels/match").json["state"] as? String == "LOST")
            await process.end(with: SIGTERM)
        }
    }

    @Test("Of two publications while APNs is overloaded, only the newer one goes out", arguments: [429, 503])
    func superseded(status: Int) async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let id = try await Self.create("match", api)
            let reason = status == 429 ? "TooManyRequests" : "ServiceUnavailable"
            test.simulator.rules.set(Rule(.reject(status: status, reason: reason)), forChannel: id)
            let first = try await api.post("/v1/projects/demo/messages:send", Self.body("match"))
            // Making the channel and the first attempt.
            await test.simulator.recording.wait(untilCount: 2)
            let newer = Self.body("match").replacing("1:0", with: "2:0").replacing("1700000000", with: "1700000001")
            let second = try await api.post("/v1/projects/demo/messages:send", newer)
            let names = try [first, second].map { try #require(try $0.json["name"] as? String, "\($0.text)") }
            let older = try await WholeGatewayTests.completeReport(names[0], process, test.keys)
            #expect(try WholeGatewayTests.ledger(older)["cancelled"] == 1, "\(older)")
            test.simulator.rules.set(nil, forChannel: id)
            let last = try await WholeGatewayTests.completeReport(names[1], process, test.keys)
            #expect(try WholeGatewayTests.ledger(last)["accepted"] == 1)
            let taken = Self.broadcasts(test).filter { $0.status == 200 }
            #expect(taken.count == 1 && taken[0].payload.contains("2:0"))
            #expect(try await api.get("/v1/projects/demo/channels/match").json["state"] as? String == "ACTIVE")
            await process.end(with: SIGTERM)
        }
    }

    @Test(
        "A refusal of the app's right to broadcast holds its publications back and loses no channel",
        arguments: [(400, "FeatureNotEnabled"), (403, "TopicMismatch")])
    func parked(status: Int, reason: String) async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let id = try await Self.create("match", api)
            test.simulator.rules.set(Rule(.reject(status: status, reason: reason), times: 1), forChannel: id)
            let sent = try await api.post("/v1/projects/demo/messages:send", Self.body("match"))
            let name = try #require(try sent.json["name"] as? String, "\(sent.text)")
            _ = await process.line(containing: "pushes are held back")
            // Devices of the app are no part of it.
            let device = try await APIClient(baseURL: process.baseURL, key: test.keys.admin).register(deviceToken: "0a")
            let single = try await api.post(
                "/v1/projects/demo/messages:send",
                #"{"message":{"token":"\#(device)","notification":{"title":"Hi"}}}"#, prefer: "wait=25")
            #expect(single.text.contains("ACCEPTED"), "\(single.text)")
            // As with a device's topic, the publication that found out ends by it.
            let report = try await WholeGatewayTests.completeReport(name, process, test.keys)
            #expect(report["rejectedByReason"] as? [String: Int] == [reason: 1], "\(report)")
            #expect(try await api.get("/v1/projects/demo/channels/match").json["state"] as? String == "ACTIVE")
            await process.end(with: SIGTERM)
        }
    }

    @Test("The commands make, list, show, publish to and delete a channel")
    func commands() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let options = ["--gateway", process.baseURL, "--key", test.keys.sender, "--project", "demo"]
            func run(_ arguments: String...) async throws -> (status: Int32, text: String) {
                let ended = try await GatewayProcess.run(arguments + options)
                return (ended.status, ended.lines.joined(separator: "\n"))
            }
            let made = try await run("channel", "create", "match", "--storage-policy", "none")
            #expect(made.status == 0 && made.text.contains("NONE"), "\(made.text)")
            _ = test.simulator.channels.make(for: Self.app, storagePolicy: 0)
            let list = try await run("channel", "list")
            #expect(list.text.contains("ACTIVE") && list.text.contains("At Apple without a name here (1)"))
            let file = test.directory.file("update.json")
            try Self.update.write(toFile: file, atomically: true, encoding: .utf8)
            let sent = try await run("send", "--channel", "match", "--message", file, "--wait")
            #expect(sent.status == 0 && sent.text.contains("ACCEPTED"), "\(sent.text)")
            #expect(Self.broadcasts(test).first?.headers["apns-expiration"] == "0")
            let shown = try await run("channel", "show", "match", "--json")
            #expect(shown.text.contains(#""state":"ACTIVE""#), "\(shown.text)")
            #expect(try await run("channel", "delete", "match").status == 0)
            #expect(test.simulator.channels.ids(of: Self.app).count == 1)
            #expect(try await run("channel", "show", "match").status != 0)
            await process.end(with: SIGTERM)
        }
    }
}
