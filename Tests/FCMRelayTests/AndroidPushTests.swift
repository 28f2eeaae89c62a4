import FCMWire
import JSON
import PushModel
import TestSupport
import Testing

@testable import FCMRelay
@testable import HTTP2Client
@testable import Upstream

/// The requests to Google for one message.
struct AndroidPushTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func push(
        _ json: String, lifetime: Duration = .seconds(3600), acceptedAt: Timestamp? = AndroidPushTests.now,
        collapsesRepeats: Bool = false, isDryRun: Bool = false
    ) throws -> AndroidPush {
        try AndroidPush(
            FCMMessage(source: JSONValue(parsing: Array(json.utf8))),
            in: PushContext(
                message: MessageID(rawValue: "m-1")!, projectNumber: 123, broadcastTopic: nil,
                collapsesRepeats: collapsesRepeats,
                app: App(id: AppID(rawValue: "com.example.app")!, service: .android(isReached: true)),
                expiresAt: Self.now + lifetime, acceptedAt: acceptedAt), isDryRun: isDryRun)
    }

    private func request(
        _ content: AndroidPush, token: String = "abc:def", isRelayed: Bool = false,
        now: Timestamp = AndroidPushTests.now
    ) throws -> Request {
        let token = try #require(AndroidToken(rawValue: token))
        let push = try Push(
            route: PushRoute(
                project: #require(ProjectID(rawValue: "demo")), app: #require(AppID(rawValue: "com.example.app")),
                channel: .fcm), lane: .bulk, address: isRelayed ? .relayed(token) : .android(token),
            content: content, payload: content.payload,
            id: PushID(message: #require(MessageID(rawValue: "m-1")), registration: RegistrationKey(rawValue: 1)))
        let service = FCMRelayService(projectID: "upstream-1", wallTime: { now }, uptime: { .zero })
        return try #require(service.requests(for: [0], of: [push]).requests.first)
    }

    private func body(_ json: String, now: Timestamp = AndroidPushTests.now) throws -> JSONValue {
        try JSONValue(parsing: request(push(json), now: now).body)
    }

    @Test func theMessageGoesAsItCameForOneToken() throws {
        let json = #"""
            {"topic":"news","notification":{"title":"Hi"},"data":{"a":"1"},"apns":{"headers":{"apns-priority":"5"}},
            "webpush":{"data":{"b":"2"}},"android":{"priority":"high","collapseKey":"k","ttl":"60s"},
            "fcmOptions":{"analyticsLabel":"x"}}
            """#
        let request = try request(push(json))
        #expect(request.path == "/v1/projects/upstream-1/messages:send" && request.method == "POST")
        #expect(request.headers.contains { $0.name == "content-type" && $0.value == "application/json" })
        let expected = #"""
            {"message":{"notification":{"title":"Hi"},"data":{"a":"1"},"fcm_options":{"analyticsLabel":"x"},
            "android":{"priority":"high","collapse_key":"k","ttl":"60s"},"token":"abc:def"}}
            """#
        #expect(try JSONValue(parsing: request.body).canonicalBytes == JSONValue(parsing: expected.utf8).canonicalBytes)
    }

    /// Which platform a relayed token is of, only Google knows.
    @Test func aRelayedTokenGetsTheBlocksOfAllPlatforms() throws {
        let content = try push(
            #"{"data":{"a":"1"},"apns":{"headers":{"apns-priority":"5"}},"webpush":{"data":{"b":"2"}}}"#)
        let whole = try JSONValue(parsing: request(content, isRelayed: true).body)["message"]
        #expect(whole?["apns"]?["headers"]?["apns-priority"]?.stringValue == "5")
        #expect(whole?["webpush"]?["data"]?["b"]?.stringValue == "2" && whole?["token"]?.stringValue == "abc:def")
        let android = try JSONValue(parsing: request(content).body)["message"]
        #expect(android?["apns"] == nil && android?["webpush"] == nil)
    }

    @Test(arguments: [
        (#"{"data":{"a":"1"}}"#, 0, "3600s"), (#"{"data":{"a":"1"}}"#, 100, "3500s"),
        (#"{"data":{"a":"1"},"android":{"ttl":"60.9s"}}"#, 0, "60s"),
        (#"{"data":{"a":"1"},"android":{"ttl":"60s"}}"#, 15, "45s"),
        (#"{"data":{"a":"1"},"android":{"ttl":"0s"}}"#, 15, "0s"),
        (#"{"data":{"a":"1"}}"#, 5000, "0s"),
    ])
    func timeToLiveShrinksWithTheWait(json: String, seconds: Int, text: String) throws {
        let body = try body(json, now: Self.now + .seconds(seconds))
        #expect(body["message"]?["android"]?["ttl"]?.stringValue == text)
    }

    /// Zero would mean now or never.
    @Test func inTheLastSecondOneIsLeft() throws {
        let content = try push(#"{"data":{"a":"1"},"android":{"ttl":"15s"}}"#)
        #expect(content.secondsToLive(at: Self.now + .milliseconds(14_200)) == 1)
        #expect(content.secondsToLive(at: Self.now + .milliseconds(15_000)) == 0)
    }

    @Test func fourWeeksAreTheLongest() throws {
        let content = try push(#"{"data":{"a":"1"}}"#, lifetime: .seconds(3_000_000))
        #expect(content.secondsToLive(at: Self.now) == 2_419_200)
    }

    @Test func whatIsOverForItsSenderIsNotSent() throws {
        let service = FCMRelayService(projectID: "p", wallTime: { Self.now + .seconds(60) }, uptime: { .zero })
        func refused(_ json: String) throws -> Bool {
            let content = try push(json)
            let push = try Push(
                route: PushRoute(
                    project: #require(ProjectID(rawValue: "demo")), app: #require(AppID(rawValue: "com.example.app")),
                    channel: .fcm), lane: .bulk, address: .android(#require(AndroidToken(rawValue: "abc:def"))),
                content: content, payload: content.payload,
                id: PushID(message: #require(MessageID(rawValue: "m-1")), registration: RegistrationKey(rawValue: 1)))
            let refusal = service.refusedPushes(among: [0], of: [push])[0]
            // The delivery ends as expired.
            #expect(refusal.map { $0.scope == .push(.timeToLive) } ?? true)
            return refusal != nil
        }
        #expect(try refused(#"{"data":{"a":"1"},"android":{"ttl":"60s"}}"#))
        #expect(try !refused(#"{"data":{"a":"1"},"android":{"ttl":"61s"}}"#))
        #expect(try !refused(#"{"data":{"a":"1"},"android":{"ttl":"0s"}}"#))
        #expect(try !refused(#"{"data":{"a":"1"}}"#))
    }

    @Test func theSecondVersionOfTheBlockPassesThrough() throws {
        let body = try body(#"{"data":{"a":"1"},"android_v2":{"background_sync":{},"ttl":"9s"}}"#)
        #expect(body["message"]?["android"] == nil)
        #expect(body["message"]?["android_v2"]?["ttl"]?.stringValue == "9s")
        #expect(body["message"]?["android_v2"]?["background_sync"] == .object([]))
    }

    @Test func aRepeatTakesThePlaceOfTheFirst() throws {
        let content = try push(#"{"notification":{"title":"Hi"}}"#, collapsesRepeats: true)
        let body = try JSONValue(parsing: request(content).body)
        #expect(body["message"]?["android"]?["notification"]?["tag"]?.stringValue == "m-1")
        let own = try push(
            #"{"notification":{"title":"Hi"},"android":{"notification":{"tag":"own"}}}"#, collapsesRepeats: true)
        #expect(
            try JSONValue(parsing: request(own).body)["message"]?["android"]?["notification"]?["tag"]?.stringValue
                == "own")
        let silent = try push(#"{"data":{"a":"1"}}"#, collapsesRepeats: true)
        #expect(try JSONValue(parsing: request(silent).body)["message"]?["android"]?["notification"] == nil)
    }

    @Test func aDryRunAsksGoogleToCheckOnly() throws {
        let body = try JSONValue(parsing: request(push(#"{"data":{"a":"1"}}"#, isDryRun: true)).body)
        #expect(body["validate_only"] == .bool(true) && body["message"]?["token"]?.stringValue == "abc:def")
    }

    @Test func anyTokenStaysOneString() throws {
        let token = #"a"b\c"#
        let body = try JSONValue(parsing: request(push(#"{"data":{"a":"1"}}"#), token: token).body)
        #expect(body["message"]?["token"]?.stringValue == token)
    }

    /// Google would refuse each push of a broadcast.
    @Test func whatIsTooLargeIsRefusedAtAccept() throws {
        let text = String(repeating: "x", count: 4096)
        let error = #expect(throws: InvalidMessage.self) { try push(#"{"data":{"a":"\#(text)"}}"#) }
        #expect(error?.violations.first?.description.contains("4097 bytes, the limit is 4096") == true)
        #expect(throws: Never.self) { try push(#"{"data":{"a":"\#(text.dropLast())"}}"#) }
    }

    @Test(arguments: [
        (#"{"name":"projects/p/messages/0:1500415314455276%31bd1c96"}"#, "0:1500415314455276%31bd1c96"),
        (#"{ "name" : "projects/p/messages/42" }"#, "42"), (#"{"name":"projects/p/messages/"#, nil), ("{}", nil),
        (#"{"name":"projects/p/messages/"}"#, nil), (#"{"name":"/messages/messages/7"}"#, "messages/7"),
        (String(repeating: " ", count: 1010) + #"/messages/123""#, "123"),
        (String(repeating: " ", count: 1011) + #"/messages/123""#, nil),
    ])
    func googlesNameIsRead(body: String, id: String?) {
        let service = FCMRelayService(projectID: "p", wallTime: { Self.now }, uptime: { .zero })
        let answer = AcceptingAnswer(Response(status: 200, headers: [], body: Array(body.utf8)))
        #expect(service.acceptance(in: answer)?.id == id)
    }
}
