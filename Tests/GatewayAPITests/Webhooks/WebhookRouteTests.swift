import Foundation
import HTTPTypes
import JSON
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing
import Webhooks

@testable import GatewayAPI

/// Endpoints of webhooks, as admins make and change them.
@Suite(.timeLimit(.minutes(5)))
struct WebhookRouteTests {
    private static let path = "/v1/projects/demo/webhooks"
    private static let url = "https://hooks.example.com/herald"

    /// A gateway that sends webhooks.
    private struct Scene {
        let gateway: TestGateway

        var receiver: WebhookReceiver { gateway.receiver }

        init(androidApps: [String] = []) async throws {
            gateway = try await TestGateway(androidApps: androidApps)
        }

        func request(
            _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, as role: Role? = .admin
        ) async throws -> Answer {
            try await gateway.request(method, path, body, as: role)
        }

        func create(_ rest: String = "") async throws -> (path: String, answer: Answer) {
            let answer = try await request(
                .post, WebhookRouteTests.path,
                #"{"url":"\#(WebhookRouteTests.url)","types":["message.finished","delivery.rejected"]\#(rest)}"#)
            let name = try #require(try answer.json["name"]?.stringValue, "\(answer.text)")
            return ("/v1/" + name, answer)
        }

        func invite(_ count: Int) async throws {
            for _ in 0..<count {
                let id = InvitationID.random()
                _ = try await gateway.store.invite(
                    Invitation(
                        id: id, project: ProjectID(rawValue: "demo")!, inviter: UserID(rawValue: "u\(id)")!,
                        code: "\(id)",
                        campaign: "c", prefix: "go.example.com", parameters: "", notice: nil,
                        createdAt: gateway.clock.now))
            }
        }
    }

    @Test func aWebhookIsMadeWithASecretThatIsShownOnce() async throws {
        let scene = try await Scene()
        let (path, made) = try await scene.create(
            #","description":"Bücher","asymmetric":true,"filter":{"topics":["news"],"onlyFailures":true,"sampling":3},"#
                + #""batching":{"maxEvents":10,"max_delay":"2.5s"}"#)
        let secrets = try #require(try made.list("secrets"))
        #expect(secrets.count == 2 && secrets[0]["value"]?.stringValue?.hasPrefix("whsec_") == true)
        #expect(secrets[1]["publicKey"]?.stringValue?.hasPrefix("whpk_") == true && secrets[1]["value"] == nil)
        let read = try await scene.request(.get, path)
        #expect(read.status == 200 && !read.text.contains("whsec_") && !read.text.contains("whsk_"))
        let view = try read.json
        #expect(view["url"] == .string(Self.url) && view["state"] == .string("ENABLED"))
        #expect(view["filter"]?["topics"] == .array([.string("news")]) && view["filter"]?["sampling"] == .number("3"))
        #expect(view["batching"]?["maxEvents"] == .number("10") && view["batching"]?["maxDelay"] == .string("2.500s"))
        let list = try await scene.request(.get, Self.path)
        #expect(try list.list("webhooks")?.count == 1 && !list.text.contains("whsec_"))
        let audit = try await scene.request(.get, "/v1/projects/demo/audit?filter=action=webhook.create")
        #expect(try audit.list("entries")?.count == 1 && !audit.text.contains("whsec_"))
    }

    @Test func anIDOfSeveralAppsIsNamedWithItsPlatform() async throws {
        let scene = try await Scene(androidApps: ["com.example.app"])
        func filter(_ apps: String) -> String { #""filter":{"apps":[\#(apps)]}"# }
        let body = #"{"url":"\#(Self.url)","types":["message.finished"],"#
        let refused = try await scene.request(
            .post, Self.path, body + filter(#""com.example.dev","com.example.app""#) + "}")
        #expect(refused.status == 400 && refused.text.contains("filter.apps[1]"), "\(refused.text)")
        #expect(refused.text.contains("say android:com.example.app or apple:com.example.app."), "\(refused.text)")
        for wrong in ["windows:com.example.app", "android:", ":", "a b"] {
            let answer = try await scene.request(.post, Self.path, body + filter("\"\(wrong)\"") + "}")
            #expect(answer.status == 400 && answer.text.contains("filter.apps[0]"), "\(answer.text)")
        }
        let (path, made) = try await scene.create(
            "," + filter(#""android:com.example.app","com.example.dev""#))
        #expect(made.status == 200)
        let apps = JSONValue.array([.string("android:com.example.app"), .string("com.example.dev")])
        #expect(try await scene.request(.get, path).json["filter"]?["apps"] == apps)
        let changed = try await scene.request(.patch, path, "{" + filter(#""com.example.app""#) + "}")
        #expect(changed.status == 400 && changed.text.contains("on several platforms"))
    }

    @Test(arguments: [
        (#"{"url":"https://a.example","types":[]}"#, "types"), (#"{"types":["message.finished"]}"#, "url"),
        (#"{"url":"http://a.example","types":["message.finished"]}"#, "url"),
        (#"{"url":"https://127.0.0.1","types":["message.finished"]}"#, "url"),
        (#"{"url":"https://a.example","types":["message.finishd"]}"#, "types[0]"),
        (
            #"{"url":"https://a.example","types":["message.finished"],"batching":{"maxEvents":501}}"#,
            "batching.maxEvents"
        ),
        (
            #"{"url":"https://a.example","types":["message.finished"],"batching":{"maxDelay":"61s"}}"#,
            "batching.maxDelay"
        ),
        (#"{"url":"https://a.example","types":["message.finished"],"filter":{"sampling":0}}"#, "filter.sampling"),
        (#"{"url":"https://a.example","types":["message.finished"],"filter":{"topics":["a b"]}}"#, "filter.topics[0]"),
        (#"{"url":"https://a.example","types":["message.finished"],"startFrom":"yesterday"}"#, "startFrom"),
        (#"{"url":"https://a.example","types":["message.finished"],"secret":"whsec_YWJj"}"#, "secret"),
    ])
    func badInputNamesItsField(body: String, field: String) async throws {
        let answer = try await Scene().request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
    }

    @Test func aURLThatIsNotAllowedNamesItsRule() async throws {
        let answer = try await Scene().request(
            .post, Self.path, #"{"url":"https://[::1]:8443/","types":["message.finished"]}"#)
        #expect(
            answer.status == 400 && answer.text.contains("URL_NOT_ALLOWED") && answer.text.contains("addressLiteral"))
    }

    @Test func onlyAdminsOfTheProjectManageWebhooks() async throws {
        let scene = try await Scene()
        let (path, _) = try await scene.create()
        for role in [Role.sender, .client] {
            #expect(try await scene.request(.get, path, as: role).status == 403)
            #expect(try await scene.request(.post, Self.path, "{}", as: role).status == 403)
        }
        let foreign = path.replacing("projects/demo", with: "projects/other")
        #expect(try await scene.request(.get, foreign).status == 403)
        #expect(try await scene.request(.get, Self.path + "/\(WebhookID.random())").status == 404)
        #expect(try await scene.request(.get, Self.path + "/x").status == 404)
    }

    @Test func aProjectHasTwentyWebhooks() async throws {
        let scene = try await Scene()
        for _ in 0..<20 { _ = try await scene.create() }
        let more = try await scene.request(.post, Self.path, #"{"url":"\#(Self.url)","types":["message.finished"]}"#)
        #expect(more.status == 429 && more.text.contains("20 webhooks"))
    }

    @Test func aWebhookIsChangedDisabledAndDeleted() async throws {
        let scene = try await Scene()
        let (path, _) = try await scene.create()
        let changed = try await scene.request(
            .patch, path, #"{"url":"https://b.example/","types":["link.clicked"],"state":"DISABLED"}"#)
        #expect(
            try changed.json["url"] == .string("https://b.example/") && changed.json["state"] == .string("DISABLED"))
        #expect(try await scene.request(.patch, path, #"{"state":"AUTO_DISABLED"}"#).badFields == ["state"])
        #expect(try await scene.request(.patch, path, #"{"secret":"x"}"#).status == 400)
        #expect(try await scene.request(.delete, path).status == 200)
        #expect(try await scene.request(.get, path).status == 404)
        #expect(try await scene.request(.delete, path).status == 404)
    }

    @Test func aTestIsSignedAndSaysWhatCameOfIt() async throws {
        let scene = try await Scene()
        let (path, _) = try await scene.create()
        let taken = try await scene.request(.post, path + ":test", "{}")
        #expect(try taken.json["isSuccess"] == .bool(true) && taken.json["status"] == .number("204"))
        let request = try #require(scene.receiver.last.withLock { $0 })
        let names = request.headers.map(\.name)
        #expect(names == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(String(decoding: request.body, as: UTF8.self).contains(#""type":"webhook.test""#))
        scene.receiver.status.withLock { $0 = 500 }
        let failed = try await scene.request(.post, path + ":test")
        #expect(try failed.json["isSuccess"] == .bool(false) && failed.json["failure"] == .string("status"))
        let attempts = try await scene.request(.get, path + "/attempts?pageSize=1")
        #expect(try attempts.list("attempts")?.first?["status"] == .number("500"))
        #expect(try attempts.json["nextPageToken"] != nil)
    }

    @Test func afterARotationBothSecretsSignUntilTheOverlapIsOver() async throws {
        let scene = try await Scene()
        let (path, made) = try await scene.create()
        let rotated = try await scene.request(.post, path + ":rotateSecret", #"{"overlap":"3600s"}"#)
        let secrets = try #require(try rotated.list("secrets"))
        #expect(secrets.count == 2 && secrets[0]["value"] != nil && secrets[0]["expireTime"] == nil)
        let first = try made.list("secrets")?[0]["value"]
        #expect(secrets[0]["value"] != first && secrets[1]["expireTime"] != nil)
        func signatures() async throws -> Int {
            _ = try await scene.request(.post, path + ":test")
            let headers = scene.receiver.last.withLock { $0 }?.headers
            return headers?.first { $0.name == "webhook-signature" }?.value.split(separator: " ").count ?? 0
        }
        #expect(try await signatures() == 2)
        scene.gateway.clock.advance(by: .seconds(3601))
        #expect(try await signatures() == 1)
        #expect(try await scene.request(.post, path + ":rotateSecret", #"{"overlap":"604801s"}"#).status == 400)
    }

    @Test func aReplayIsCountedAndThenNoted() async throws {
        let scene = try await Scene()
        try await scene.invite(7)
        let (path, made) = try await scene.create(#","startFrom":"now""#)
        #expect(try made.json["lastSequence"] == .number("7"))
        _ = try await scene.request(.patch, path, #"{"types":["referral.invited"]}"#)
        let counted = try await scene.request(.post, path + ":replay", #"{"from":"3","to":5,"dryRun":true}"#)
        #expect(try counted.json["events"] == .number("3") && counted.json["isExact"] == .bool(true), "\(counted.text)")
        #expect(try await scene.request(.get, path).json["replay"] == nil)
        let begun = try await scene.request(.post, path + ":replay", #"{"from":"3"}"#)
        #expect(try begun.json["events"] == .number("5") && begun.json["lastSequence"] == .number("7"))
        #expect(try await scene.request(.get, path).json["replay"]?["nextSequence"] == .number("3"))
        let second = try await scene.request(.post, path + ":replay", "{}")
        #expect(second.status == 400 && second.text.contains("REPLAY_UNDER_WAY"))
        let wrong = try await scene.request(.post, path + ":replay", #"{"types":["link.clicked"]}"#)
        #expect(try wrong.badFields == ["types"])
        #expect(try await scene.request(.post, path + ":replay", #"{"from":"tomorrow"}"#).badFields == ["from"])
    }

    @Test func aWebhookMayBeginAtTheBeginningOrAtATime() async throws {
        let scene = try await Scene()
        try await scene.invite(2)
        let (_, first) = try await scene.create(#","startFrom":"beginning""#)
        #expect(try first.json["lastSequence"] == .number("0"))
        scene.gateway.clock.advance(by: .seconds(10))
        try await scene.invite(1)
        let time = Timestamp(milliseconds: scene.gateway.clock.now.milliseconds - 5000).rfc3339
        let (_, later) = try await scene.create(#","startFrom":"\#(time)""#)
        #expect(try later.json["lastSequence"] == .number("2"))
    }

    @Test func eventsAreReadByTheirTypes() async throws {
        let scene = try await Scene()
        try await scene.invite(2)
        let path = "/v1/projects/demo/events"
        let kept = try await scene.request(.get, path + "?types=referral.invited,message.finished&after=0")
        #expect(try kept.list("events")?.map { $0["sequence"] } == [.number("1"), .number("2")])
        let others = try await scene.request(.get, path + "?types=message.finished")
        #expect(try others.list("events")?.isEmpty == true && others.json["lastSequence"] == .number("2"))
        #expect(try await scene.request(.get, path + "?types=message.finishd").badFields == ["types"])
    }

    @Test func aGatewayThatSendsNoneSaysSo() async throws {
        let gateway = try await TestGateway()
        var services = gateway.services
        services.request.webhooks = nil
        #expect(try await gateway.request(.get, Self.path, over: services).status == 503)
    }
}
