import FCMWire
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import Delivery
@testable import GatewayAPI

/// One id may be an app of several platforms: whatever names an app says of which it is.
@Suite(.timeLimit(.minutes(5)))
struct PlatformViewTests {
    private static let app = "com.example.app"

    /// A gateway whose app has Apple's and Android's devices, one of each in the topic `news`; the tokens.
    private static func gateway() async throws -> (gateway: TestGateway, apple: String, android: String) {
        let gateway = try await TestGateway(androidApps: [app])
        let apple = try await gateway.register().token
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/registrations",
            #"{"android":{"fcm_token":"device-0001:APA91bExample","package_name":"\#(app)"}}"#)
        let android = try #require(try answer.json["token"]?.stringValue, "\(answer.text)")
        let added = try await gateway.request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":["\#(apple)","\#(android)"]}"#)
        #expect(added.status == 200)
        return (gateway, apple, android)
    }

    @Test func deliveriesEventsAndVerdictsNameThePlatform() async throws {
        let (gateway, _, android) = try await Self.gateway()
        let name = try await gateway.send(#""topic":"news""#)
        try await gateway.finish(.bulk) { _ in (.rejected, "SENDER_ID_MISMATCH") }
        let expected: Set<JSONValue?> = [nil, .string("ANDROID")]
        let deliveries = try await gateway.request(.get, "/v1/\(name)/deliveries").requireList("deliveries")
        #expect(deliveries.count == 2 && Set(deliveries.map { $0["platform"] }) == expected)
        #expect(deliveries.allSatisfy { $0["app"] == .string(Self.app) })
        let events = try await gateway.request(.get, "/v1/projects/demo/events").requireList("events")
        let rejected = events.filter { $0["type"] == .string("delivery.rejected") }
        #expect(rejected.count == 2)
        #expect(Set(rejected.map { $0["data"]?["platform"] }) == [.string("apple"), .string("android")])
        let why = try await gateway.request(
            .get, "/v1/projects/demo/registrations/\(android.replacing(":", with: "%3A")):why")
        #expect(try why.json["platform"] == .string("ANDROID"), "\(why.text)")
    }

    @Test func theEndOfARegistrationNamesThePlatform() async throws {
        let (gateway, apple, android) = try await Self.gateway()
        for token in [apple, android] {
            let path = "/v1/projects/demo/registrations/\(token.replacing(":", with: "%3A"))"
            #expect(try await gateway.request(.delete, path).status == 200)
        }
        let events = try await gateway.request(
            .get, "/v1/projects/demo/events?types=registration.ended"
        ).requireList("events")
        #expect(events.map { $0["data"]?["platform"] } == [.string("apple"), .string("android")])
        #expect(events.allSatisfy { $0["data"]?["app"] == .string(Self.app) })
        #expect(events.allSatisfy { $0["data"]?["cause"] == .string("DELETED") })
    }

    @Test func daysAreOfOnePlatformOrOfAll() async throws {
        let (gateway, apple, android) = try await Self.gateway()
        for token in [apple, android, android] { _ = try await gateway.send(#""token":"\#(token)""#) }
        for (name, count) in [(Self.app, 3), ("apple:\(Self.app)", 1), ("android:\(Self.app)", 2)] {
            let answer = try await gateway.request(
                .get, "/v1beta1/projects/demo/androidApps/\(name)/deliveryData")
            let days = try answer.requireList("androidDeliveryData")
            #expect(days.map { $0["data"]?["ledger"]?["recipients"] } == [.integer(count)], "\(answer.text)")
            #expect(days.first?["appId"] == .string(name))
        }
        let none = try await gateway.request(
            .get, "/v1beta1/projects/demo/androidApps/web:\(Self.app)/deliveryData")
        #expect(none.status == 404)
    }

    @Test func anExportHasEachPlatformsOwnWords() async throws {
        let (gateway, _, _) = try await Self.gateway()
        _ = try await gateway.send(#""topic":"news""#)
        try await gateway.finish(.bulk) { _ in (.rejected, "SENDER_ID_MISMATCH") }
        let answer = try await gateway.request(
            .get, "/v1/projects/demo/export?startTime=2026-01-01T00:00:00Z&endTime=2026-02-01T00:00:00Z")
        let rows = try answer.text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        let android = try #require(rows.first { $0["sdk_platform"] == .string("ANDROID") }, "\(answer.text)")
        #expect(android["event"] == .string("MISMATCH_SENDER_ID") && android["apns_id"] == nil)
        let apple = try #require(rows.first { $0["sdk_platform"] == .string("IOS") })
        #expect(rows.count == 2 && apple["apns_id"]?.stringValue != nil)
    }

    @Test func aPauseNamesThePlatformOfItsRoute() throws {
        let app = try #require(AppID(rawValue: Self.app))
        let project = try #require(ProjectID(rawValue: "demo"))
        for (channel, platform) in [(Channel.apns(.production), nil), (.fcm, "ANDROID"), (.webPush, "WEB")] {
            let pause = UpstreamPause(
                part: .route(PushRoute(project: project, app: app, channel: channel)), reason: "REASON",
                since: TestGateway.startTime, nextProbe: TestGateway.startTime)
            #expect(JSONValue.object(Readiness.pause(pause))["platform"]?.stringValue == platform)
        }
    }

    @Test func sizesOfOneIDStandUnderTheirPlatforms() throws {
        let app = try #require(AppID(rawValue: Self.app))
        let other = try #require(AppID(rawValue: "com.example.other"))
        let id = MessageID(acceptedAt: TestGateway.startTime, random: 1)
        let sizes = [AppKey(.apple, app): 10, AppKey(.android, app): 20, AppKey(.web, other): 2701]
        let view = PreflightView(
            name: "projects/demo/messages/m",
            preflight: Preflight(id: id, audience: 3, payloadBytes: sizes, expectedDuration: nil, refusals: []),
            errors: [])
        let shown = JSONValue.object(view.members)["payloadBytes"]
        guard case .object(let members)? = shown else {
            Issue.record("\(view.members)")
            return
        }
        #expect(Set(members.map(\.name)) == ["apple:\(Self.app)", "android:\(Self.app)", "com.example.other"])
        #expect(shown?["android:\(Self.app)"] == .number("20"))
        // And what it lacks on each platform that it goes to.
        func warnings(_ text: String) throws -> [String] {
            let content = try FCMMessage(source: JSONValue(parsing: Array(text.utf8)))
            return view.warnings(of: content).map { "\($0.reason.rawValue) \($0.field)" }
        }
        #expect(try warnings(#"{"notification":{"title":"Hi"}}"#) == ["LARGE_PAYLOAD message"])
        #expect(
            try warnings(#"{"apns":{"payload":{"aps":{"badge":1}}}}"#) == [
                "ONLY_OTHER_PLATFORMS message.apns", "ONLY_OTHER_PLATFORMS message.apns", "LARGE_PAYLOAD message",
            ])
        #expect(
            try warnings(#"{"android":{},"webpush":{}}"#) == [
                "ONLY_OTHER_PLATFORMS message.android", "LARGE_PAYLOAD message",
            ])
    }

    /// A project that Apple's devices are none of is told nothing of them.
    @Test func aProjectWithoutAnAppleAppHearsNothingOfApple() throws {
        let app = try #require(AppID(rawValue: Self.app))
        let id = try #require(ProjectID(rawValue: "demo"))
        let android = Project(id: id, number: 1, apps: [App(id: app, service: .android(isReached: true))])
        let both = Project(
            id: id, number: 1,
            apps: Array(android.apps.values) + [App(id: app, environment: .production, firebaseKeys: .none)])
        let message = try JSONValue(parsing: Array(#"{"message":{"token":"abcdefgh:APA91bxyz","android":{}}}"#.utf8))
        let item = try SendItem(ObjectReader(root: message), at: TestGateway.startTime)
        #expect(item.warningMembers(in: android).isEmpty && item.warningMembers(in: both).count == 1)
        let plain = ReportView.blocks(item.content, in: android)
        #expect(plain["android"] == .string("SENT") && plain["apple"] == nil)
        #expect(ReportView.blocks(item.content, in: both)["apple"] == .string("SENT"))
        let apple = try FCMMessage(source: JSONValue(parsing: Array(#"{"apns":{}}"#.utf8)))
        #expect(ReportView.blocks(apple, in: android)["apple"] == .string("NOT_APPLICABLE"))
    }
}
