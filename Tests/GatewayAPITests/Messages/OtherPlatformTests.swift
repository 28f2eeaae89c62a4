import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// Android devices and browsers are addressed, controlled and heard as Apple's devices are.
@Suite(.timeLimit(.minutes(5)))
struct OtherPlatformTests {
    /// What an app of the platform posts.
    private static let bodies: [Platform: String] = [
        .android: #"{"android":{"fcm_token":"device-0001:APA91bExample","package_name":"com.example.android"}}"#,
        .web: #"{"web":{"endpoint":"https://push.example.com/send/one","p256dh":"\#(WebRegistrationTests.key)","#
            + #""auth":"AAECAwQFBgcICQoLDA0ODw"}}"#,
    ]

    private static func registered(_ platform: Platform) async throws -> (
        gateway: TestGateway, id: String, token: String
    ) {
        let gateway = try await TestGateway(
            webApps: ["www.example.com"], androidApps: ["com.example.android"], requiresInstallation: false)
        let answer = try await gateway.request(.post, "/v1/projects/demo/registrations", bodies[platform])
        let name = try #require(try answer.json["name"]?.stringValue, "\(answer.text)")
        let token = try #require(try answer.json["token"]?.stringValue)
        return (gateway, String(name.split(separator: "/").last ?? ""), token)
    }

    /// The outcome of a message's one delivery, when it is accepted, and the platform that it names.
    private static func expectAccepted(_ name: String, _ platform: Platform, _ gateway: TestGateway) async throws {
        try await gateway.finish(.interactive)
        let deliveries = try await gateway.request(.get, "/v1/\(name)/deliveries").requireList("deliveries")
        #expect(deliveries.map { $0["outcome"] } == [.string("ACCEPTED")], "\(deliveries)")
        #expect(deliveries.map { $0["platform"] } == [.string(platform == .web ? "WEB" : "ANDROID")])
    }

    @Test(arguments: [Platform.android, .web])
    func byTokenByFIDInABatchAndAsAGroup(platform: Platform) async throws {
        let (gateway, id, token) = try await Self.registered(platform)
        for target in [#""token":"\#(token)""#, #""token":"\#(id)""#, #""fid":"\#(id)""#] {
            try await Self.expectAccepted(try await gateway.send(target), platform, gateway)
        }
        let batch = try await gateway.request(
            .post, "/v1/projects/demo/messages:batchSend",
            #"{"messages":[{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}]}"#, as: .sender)
        guard case .array(let responses)? = try batch.json["responses"],
            let name = responses.first?["name"]?.stringValue
        else {
            Issue.record("\(batch.text)")
            return
        }
        try await Self.expectAccepted(name, platform, gateway)
        let key = try #require(gateway.keys[.sender]).text
        let made = try await gateway.request(
            .post, "/fcm/notification",
            #"{"operation":"create","notification_key_name":"user-1","registration_ids":["\#(token)"]}"#, as: nil,
            headers: [.authorization: "key=\(key)", try #require(HTTPField.Name("project_id")): "123456789012"])
        let group = try #require(try made.json["notification_key"]?.stringValue, "\(made.text)")
        let sent = try await gateway.request(
            .post, "/fcm/send", #"{"to":"\#(group)","notification":{"title":"Hi"}}"#, as: .sender)
        #expect(try sent.status == 200 && sent.json["success"] == .number("1"), "\(sent.text)")
    }

    @Test(arguments: [Platform.android, .web])
    func itsReceiptsCount(platform: Platform) async throws {
        let (gateway, _, token) = try await Self.registered(platform)
        let name = try await gateway.send(#""token":"\#(token)""#)
        try await gateway.finish(.interactive)
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/receipts",
            #"{"registration":"\#(token)","message":"\#(name)","kind":"OPENED"}"#, as: .client)
        #expect(answer.text == #"{"results":[{}]}"#)
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(report["receipts"]?["opened"] == .number("1"))
    }

    @Test(arguments: [Platform.android, .web])
    func aBroadcastToItIsPacedPausedAndCancelled(platform: Platform) async throws {
        let (gateway, _, token) = try await Self.registered(platform)
        _ = try await gateway.request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":["\#(token)"]}"#)
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"topic":"news","notification":{"title":"Hi"}},"delivery":{"rate":5}}"#, as: .sender)
        let name = try #require(try answer.json["name"]?.stringValue, "\(answer.text)")
        for (method, state) in [("pause", "PAUSED"), ("resume", "ACTIVE"), ("cancel", "CANCELLED")] {
            let answer = try await gateway.request(.post, "/v1/\(name):\(method)", as: .sender)
            #expect(try answer.json["state"] == .string(state), "\(answer.text)")
            #expect(try answer.json["pace"]?["rate"] != nil)
        }
        _ = try await gateway.store.bookCancelled(limit: 100, at: gateway.clock.now)
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(report["ledger"]?["cancelled"] == .number("1"))
    }
}
