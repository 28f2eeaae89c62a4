import AsyncHTTPClient
import CryptoExtras
import Foundation
import NIOCore
import NIOHTTP1
import Simulators
import TestSupport
import Testing

@Suite("The simulator serves as Google does", .timeLimit(.minutes(5)))
struct GoogleSimulatorTests {
    @Test("An assertion gives an access token, and that a message's name", arguments: [false, true])
    func exchangeAndSend(http1Only: Bool) async throws {
        try await GoogleHarness.run(http1Only: http1Only) { google in
            let exchange = try await google.exchange(google.assertion())
            #expect(exchange.status == 200 && exchange["token_type"] == "Bearer")
            let token = try #require(exchange["access_token"])
            let answer = try await google.send(bearer: token)
            #expect(answer.status == 200)
            #expect(answer["name"]?.hasPrefix("projects/\(google.identity.projectID)/messages/0:") == true)
            let byNumber = try await google.send(project: google.identity.projectNumber, bearer: token)
            #expect(byNumber.status == 200)
            let record = try #require(google.simulator.recording.pushes.first)
            #expect(record.deviceToken == GoogleHarness.token && record.status == 200)
            #expect(record.headers["authorization"] == nil && record.payload.contains(#""data":{"a":"1"}"#))
            #expect(answer["name"]?.hasSuffix(record.apnsID ?? "-") == true)
        }
    }

    @Test("Assertions are looked at as Google does")
    func assertions() async throws {
        try await GoogleHarness.run { google in
            let now = google.clock.seconds
            let wrong: [([String: Any], String, String)] = [
                (["iss": "other@example.com"], "invalid_grant", "account not found"),
                (["aud": "https://example.com/token"], "invalid_grant", "audience"),
                (["exp": now + 3601], "invalid_grant", "reasonable timeframe"),
                (["iat": now - 4000, "exp": now - 400], "invalid_grant", "reasonable timeframe"),
                (["iat": now + 600, "exp": now + 3000], "invalid_grant", "reasonable timeframe"),
                (["scope": "https://www.googleapis.com/auth/userinfo.email"], "invalid_scope", "scope"),
            ]
            for (claims, error, description) in wrong {
                let answer = try await google.exchange(google.assertion(claims))
                #expect(answer.status == 400 && answer["error"] == error, "\(claims)")
                #expect(answer["error_description"]?.contains(description) == true, "\(answer.body)")
            }
            // Google's clients name Google's own address, wherever they ask.
            let fixed = try await google.exchange(google.assertion(["aud": "https://oauth2.googleapis.com/token"]))
            #expect(fixed.status == 200)
            let stranger = try await google.exchange(google.assertion(key: .init(keySize: .bits2048)))
            #expect(stranger["error_description"] == "Invalid JWT Signature.")
            #expect(try await google.exchange(google.assertion(header: ["alg": "none"])).status == 400)
            #expect(try await google.exchange("a.b").status == 400)
        }
    }

    @Test("Who has no access token that lives is unauthenticated")
    func bearers() async throws {
        try await GoogleHarness.run { google in
            let token = try await google.accessToken()
            #expect(try await google.send(bearer: token).status == 200)
            google.clock.advance(seconds: 3599)
            let late = try await google.send(bearer: token)
            #expect(late.status == 401 && late["error", "status"] == "UNAUTHENTICATED" && late.code == nil)
            #expect(try await google.send(bearer: "ya29.guess").status == 401)
            let fresh = try await google.accessToken()
            google.simulator.revokeTokens()
            #expect(try await google.send(bearer: fresh).status == 401)
        }
    }

    @Test(
        "Messages are looked at as Google does",
        arguments: [
            (#"{"message":{"token":"TOKEN"},"validate_only":true}"#, 200, nil, ""),
            (#"{"message":{"topic":"news"}}"#, 200, nil, ""),
            (
                #"{"message":{"token":"TOKEN","android":{"priority":"high","ttl":"3.500000000s","collapseKey":"k"}}}"#,
                200, nil, ""
            ),
            (
                #"{"message":{"token":"TOKEN","notification":{"icon":"x"}}}"#, 400, nil,
                "Unknown name \\\"icon\\\" at 'message.notification': Cannot find field."
            ),
            (
                #"{"message":{"token":"TOKEN","data":{"a":12}}}"#, 400, nil,
                "Invalid value at 'message.data[0].value' (TYPE_STRING), 12"
            ),
            (#"{"message":{"token":"TOKEN","android":{"ttl":"5"}}}"#, 400, nil, "message.android.ttl"),
            (#"{"message":{"token":"TOKEN","android":{"priority":"URGENT"}}}"#, 400, nil, "TYPE_ENUM"),
            (#"{"message":{"token":"TOKEN""#, 400, nil, "Invalid JSON payload received"),
            (#"{"message":{"data":{"a":"1"}}}"#, 400, "INVALID_ARGUMENT", "Recipient of the message is not set."),
            (#"{"message":{"token":"TOKEN","topic":"news"}}"#, 400, "INVALID_ARGUMENT", "oneof"),
            (#"{"message":{"token":"short"}}"#, 400, "INVALID_ARGUMENT", "message.token"),
            (
                #"{"message":{"token":"TOKEN","data":{"google.a":"1"}}}"#, 400, "INVALID_ARGUMENT",
                "Invalid data payload key: google.a"
            ),
            (
                #"{"message":{"token":"TOKEN","android":{"ttl":"2419201s"}}}"#, 400, "INVALID_ARGUMENT",
                "message.android.ttl"
            ),
            (#"{"message":{"token":"TOKEN","android":{},"android_v2":{}}}"#, 400, "INVALID_ARGUMENT", "android_v2"),
        ] as [(String, Int, String?, String)])
    func messages(body: String, status: Int, code: String?, text: String) async throws {
        try await GoogleHarness.run { google in
            let answer = try await google.send(body.replacing("TOKEN", with: GoogleHarness.token))
            #expect(answer.status == status && answer.code == code, "\(answer.body)")
            #expect(text.isEmpty || answer.body.contains(text), "\(answer.body)")
        }
    }

    @Test("The payload has 4096 bytes at most")
    func size() async throws {
        try await GoogleHarness.run { google in
            for (count, status) in [(4095, 200), (4096, 400)] {
                let text = String(repeating: "x", count: count)
                let answer = try await google.send(
                    #"{"message":{"token":"\#(GoogleHarness.token)","data":{"a":"\#(text)"}}}"#)
                #expect(answer.status == status)
            }
        }
    }

    @Test("Tokens and rules ask for every answer")
    func faults() async throws {
        try await GoogleHarness.run { google in
            let expected: [(GoogleFault, Int, String?)] = [
                (.unregistered, 404, "UNREGISTERED"), (.invalidToken, 400, "INVALID_ARGUMENT"),
                (.mismatch, 403, "SENDER_ID_MISMATCH"), (.thirdParty, 401, "THIRD_PARTY_AUTH_ERROR"),
                (.unauthenticated, 401, nil), (.permissionDenied, 403, nil), (.serviceDisabled, 403, nil),
                (.projectMissing, 404, nil), (.projectQuota, 429, "QUOTA_EXCEEDED"),
                (.deviceQuota, 429, "QUOTA_EXCEEDED"), (.quota, 429, "QUOTA_EXCEEDED"), (.internal, 500, "INTERNAL"),
                (.unavailable, 503, "UNAVAILABLE"), (.badGateway, 502, nil), (.page, 404, nil),
            ]
            let bearer = try await google.accessToken()
            for (fault, status, code) in expected {
                let answer = try await google.send(to: fault.rawValue + "-0001:APA91bExample", bearer: bearer)
                #expect(answer.status == status && answer.code == code, "\(fault): \(answer.body)")
            }
            google.simulator.rules.set(
                GoogleRule(.unavailable, retryAfterSeconds: 7, times: 1), for: GoogleHarness.token)
            let held = try await google.send(bearer: bearer)
            #expect(held.status == 503 && held.headers.first(name: "retry-after") == "7")
            #expect(try await google.send(bearer: bearer).status == 200)
            google.simulator.rules.set(GoogleRule(.mismatch), for: "dQw4*")
            #expect(try await google.send(bearer: bearer).code == "SENDER_ID_MISMATCH")
            google.simulator.rules.clear()
            google.simulator.rules.set(GoogleRule(.invalidGrant, times: 1), for: GoogleRuleBook.tokenRequests)
            #expect(try await google.exchange(google.assertion())["error"] == "invalid_grant")
            #expect(try await google.exchange(google.assertion()).status == 200)
        }
    }

    @Test("Another project is not found, and other paths are pages")
    func places() async throws {
        try await GoogleHarness.run { google in
            let other = try await google.send(project: "other")
            #expect(other.status == 404 && other["error", "status"] == "NOT_FOUND" && other.code == nil)
            let page = try await google.post("/v1/nothing", "{}", headers: [])
            #expect(page.status == 404 && page.headers.first(name: "content-type")?.hasPrefix("text/html") == true)
        }
    }

    @Test("Quotas hold by the minute")
    func quotas() async throws {
        try await GoogleHarness.run(configure: {
            $0.messagesPerMinute = 3
            $0.messagesPerDevice = 1
        }) { google in
            let bearer = try await google.accessToken()
            let (first, second) = ("device-0001:APA91bExample", "device-0002:APA91bExample")
            #expect(try await google.send(to: first, bearer: bearer).status == 200)
            let device = try await google.send(to: first, bearer: bearer)
            #expect(device.status == 429 && device.body.contains("device:"))
            #expect(try await google.send(to: second, bearer: bearer).status == 200)
            let project = try await google.send(to: "device-0003:APA91bExample", bearer: bearer)
            #expect(project.status == 429 && project.body.contains("project:"))
            google.clock.advance(seconds: 60)
            #expect(try await google.send(to: first, bearer: bearer).status == 200)
        }
    }

    @Test("A connection says GOAWAY when its time has come, and nothing is lost")
    func goAway() async throws {
        try await GoogleHarness.run(configure: { $0.goAwayAfter = 3 }) { google in
            let bearer = try await google.accessToken()
            for _ in 0..<10 { #expect(try await google.send(bearer: bearer).status == 200) }
            #expect(Set(google.simulator.recording.pushes.map(\.connection)).count > 2)
        }
    }

    @Test("The control endpoint shows messages and sets rules")
    func control() async throws {
        try await GoogleHarness.run { google in
            let bearer = try await google.accessToken()
            _ = try await google.send(bearer: bearer)
            let base = "http://127.0.0.1:\(try #require(google.controlPort))"
            var request = HTTPClientRequest(url: base + "/messages")
            var response = try await google.client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
            #expect(String(buffer: try await response.body.collect(upTo: 1 << 20)).contains(GoogleHarness.token))
            request = HTTPClientRequest(url: base + "/rules/default")
            request.method = .PUT
            request.body = .bytes(ByteBuffer(string: #"{"fault":"internal"}"#))
            response = try await google.client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
            #expect(response.status == .noContent)
            #expect(try await google.send(bearer: bearer).status == 500)
            request.body = .bytes(ByteBuffer(string: #"{"fualt":"internal"}"#))
            response = try await google.client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
            #expect(response.status == .badRequest)
        }
    }

    @Test("A stream beyond a hundred is answered with GOAWAY, the hundredth is not")
    func hundredStreams() async throws {
        try await GoogleHarness.run { google in
            try await WireClient.run(port: google.port, trusting: google.identity.caFile, authorization: "Bearer x") {
                client in
                func open(_ numbers: ClosedRange<Int>) async throws {
                    let frames = try numbers.map {
                        WireClient.frame(.headers, flags: 4, stream: UInt32($0 * 2 - 1), try client.headers($0))
                    }
                    try await client.connection.write(frames.flatMap { $0 })
                }
                try await open(1...100)
                try await client.connection.write(WireClient.frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
                let before = try await client.frames { $0.kind == .ping && $0.flags & 1 == 1 }
                #expect(before.contains { $0.setting(3) == 100 } && !before.contains { $0.kind == .goAway })
                try await open(101...101)
                let after = try await client.frames { $0.kind == .goAway }
                #expect(after.last?.kind == .goAway)
            }
        }
    }

    @Test(
        "It plays the scenarios that all services have, in Google's words",
        arguments: [
            ("too-many-requests,share=1,retryAfterSeconds=7", 429, "QUOTA_EXCEEDED"),
            ("unavailable-burst,everyMilliseconds=1000,durationMilliseconds=1000", 503, "UNAVAILABLE"),
            ("unregistered-share,share=1", 404, "UNREGISTERED"), ("bad-device-share,share=1", 400, "INVALID_ARGUMENT"),
        ])
    func scenarios(text: String, status: Int, code: String) async throws {
        let set = ScenarioSet([try Scenario(text: text)])
        try await GoogleHarness.run(configure: { $0.scenarios = set }) { google in
            let answer = try await google.send()
            #expect(answer.status == status && answer.code == code, "\(answer)")
            #expect(answer.headers.first(name: "retry-after") == (text.contains("retryAfter") ? "7" : nil))
            google.simulator.scenarios.set(ScenarioSet())
            #expect(try await google.send().status == 200)
            #expect(google.simulator.recording.pushes.map(\.status) == [status, 200])
        }
    }

    @Test("Connections end as scenarios say, and token requests are none of a message's trouble")
    func endings() async throws {
        try await GoogleHarness.run { google in
            let bearer = try await google.accessToken()
            for text in ["drop,after=1,spread=0", "reset,share=1,errorCode=2", "drop,after=1,spread=0,abrupt=1"] {
                google.simulator.scenarios.set(ScenarioSet([try Scenario(text: text)]))
                await #expect(throws: (any Error).self) { try await google.send(bearer: bearer) }
                google.simulator.scenarios.set(ScenarioSet())
                let next = try await SimulatorHarness.onceConnected { try await google.send(bearer: bearer).status }
                #expect(next == 200, "after \(text)")
            }
            let away = "goaway-shutdown,after=1,spread=0,refusals=1,lingerMilliseconds=1"
            google.simulator.scenarios.set(ScenarioSet([try Scenario(text: away)]))
            #expect(try await google.send(bearer: bearer).status == 503)
            google.simulator.scenarios.set(ScenarioSet())
            let next = try await SimulatorHarness.onceConnected { try await google.send(bearer: bearer).status }
            #expect(next == 200)
            #expect(Set(google.simulator.recording.pushes.map(\.connection)).count > 1)
            #expect(throws: SimulatorError.self) {
                try ScenarioSet([Scenario(.collapseAfterReject)]).ofAllServices()
            }
        }
    }
}
