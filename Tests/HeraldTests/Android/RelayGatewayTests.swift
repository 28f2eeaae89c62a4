import Foundation
import PushModel
import Simulators
import Store
import TestSupport
import Testing

@testable import herald

/// Tokens of Google's that nothing has registered, in a project with `unknownTokens: relay`: the whole gateway as a process,
/// and a simulated Google over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct RelayGatewayTests {
    private static let token = "cRelayedDevice_0000001:APA91bExample"
    private static let text = #""notification":{"title":"Hi"},"apns":{"payload":{"aps":{"badge":1}}}"#

    @Test func aTokenThatOnlyGoogleKnowsGoesThereAndIsKnownThen() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            let first = try await gateway.send(to: Self.token, Self.text)
            let arrived = try #require(gateway.google.recording.pushes.first)
            #expect(arrived.deviceToken == Self.token && arrived.payload.contains(#""badge""#))
            #expect(try WholeGatewayTests.ledger(try await gateway.report(first))["accepted"] == 1)
            let delivery = try #require(try await gateway.deliveries(first).first)
            #expect(delivery["upstreamId"] as? String == arrived.apnsID && delivery["attempts"] as? Int == 1)
            // Known now, and a whole message again.
            let second = try await gateway.send(to: Self.token, Self.text)
            #expect(try WholeGatewayTests.ledger(try await gateway.report(second))["accepted"] == 1)
            // A kill loses nothing of it.
            await gateway.process.end(with: SIGKILL)
            let process = try await gateway.test.start()
            let after = AndroidGateway(test: gateway.test, google: gateway.google, process: process)
            let third = try await after.send(to: Self.token, Self.text)
            #expect(try WholeGatewayTests.ledger(try await after.report(third))["accepted"] == 1)
            let pushes = gateway.google.recording.pushes
            #expect(pushes.count == 3 && pushes.allSatisfy { $0.payload.contains(#""badge""#) })
            let known = try await after.registrations()
            #expect(known.count == 1 && known.first?["platform"] as? String == "UNKNOWN")
            #expect(known.first?["token"] as? String == Self.token)
            let audit = try await after.admin.get("/v1/projects/demo/audit?filter=action=registration.adopt")
            #expect((try audit.json["entries"] as? [[String: Any]])?.count == 1, "\(audit.text)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func whatGoogleRefusesIsAnsweredAsGoogleDoesAndNothingIsKept() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            let expected = [
                ("unregistered-1", 404, "UNREGISTERED"), ("invalid-token-1", 400, "INVALID_ARGUMENT"),
                ("mismatch-1", 403, "SENDER_ID_MISMATCH"), ("invalid-message-1", 400, "INVALID_ARGUMENT"),
                ("internal-1", 500, "INTERNAL"), ("device-quota-1", 429, "QUOTA_EXCEEDED"),
                ("third-party-1", 401, "THIRD_PARTY_AUTH_ERROR"),
            ]
            for (device, status, code) in expected {
                let answer = try await gateway.answer(to: device + ":APA91bExample")
                #expect(answer.status == status && answer.text.contains(#""errorCode":"\#(code)""#), "\(answer.text)")
            }
            #expect(gateway.google.recording.pushes.count == expected.count)
            try await Self.nothingIsKept(by: gateway)
        }
    }

    /// The sender's tokens are good, whatever is wrong with the gateway's account.
    @Test func aBrokenAccountIsUnavailable() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            gateway.google.rules.set(GoogleRule(.permissionDenied), for: GoogleRuleBook.others)
            let answer = try await gateway.answer(to: Self.token)
            #expect(answer.status == 503 && answer.text.contains(#""errorCode":"UNAVAILABLE""#), "\(answer.text)")
            try await Self.nothingIsKept(by: gateway)
        }
    }

    @Test func aGoogleThatIsSilentIsUnavailableAfterTenSeconds() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            gateway.google.rules.set(GoogleRule(.silent), for: GoogleRuleBook.others)
            let start = ContinuousClock.now
            let answer = try await gateway.answer(to: Self.token)
            #expect(answer.status == 503 && answer.text.contains("UPSTREAM_UNAVAILABLE"), "\(answer.text)")
            #expect(ContinuousClock.now - start >= .seconds(10))
            try await Self.nothingIsKept(by: gateway)
        }
    }

    @Test func sendsAtTheSameTimeMakeOneRegistration() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            gateway.google.rules.set(GoogleRule(nil, delayMilliseconds: 200), for: GoogleRuleBook.others)
            let names = try await withThrowingTaskGroup(of: String.self) { tasks in
                for _ in 0..<10 { tasks.addTask { try await gateway.send(to: Self.token, Self.text) } }
                return try await tasks.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(names.count == 10)
            #expect(try await gateway.registrations().count == 1)
            // Those that came after the token was known are on their way.
            for name in names {
                #expect(try WholeGatewayTests.ledger(try await gateway.report(name))["accepted"] == 1)
            }
            #expect(gateway.google.recording.pushes.count == 10)
        }
    }

    @Test func tokensOfTheGatewayNeverGoToGoogle() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            let token = try await gateway.register("device-0001:APA91bExample")
            let deleted = try await gateway.admin.send("DELETE", "/v1/projects/demo/registrations/\(token)", nil)
            #expect(deleted.status == 200, "\(deleted.text)")
            let unknown = try StoredToken.random().token(of: RegistrationID.random().rawValue)
            for token in [token, unknown.rawValue] {
                let answer = try await gateway.answer(to: token)
                #expect(answer.status == 404 && answer.text.contains(#""errorCode":"UNREGISTERED""#), "\(answer.text)")
            }
            // One that was relayed has ended here, too.
            _ = try await gateway.send(to: Self.token, Self.text)
            _ = try await gateway.admin.send("DELETE", "/v1/projects/demo/registrations/\(Self.token)", nil)
            #expect(try await gateway.answer(to: Self.token).status == 404)
            #expect(gateway.google.recording.pushes.map(\.deviceToken) == [Self.token])
        }
    }

    @Test func withoutRelayAnUnknownTokenIsUnregistered() async throws {
        try await AndroidGateway.with { gateway in
            let answer = try await gateway.answer(to: Self.token)
            #expect(answer.status == 404 && answer.text.contains("REGISTRATION_UNKNOWN"))
            #expect(gateway.google.recording.pushes.isEmpty)
        }
    }

    @Test func validateOnlyAsksGoogleAndKeepsNothing() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            let asked = try await gateway.answer(to: Self.token, beside: #""validateOnly":true"#)
            #expect(asked.status == 200, "\(asked.text)")
            let dead = try await gateway.answer(to: "unregistered-1:APA91bExample", beside: #""validateOnly":true"#)
            #expect(dead.status == 404 && dead.text.contains(#""errorCode":"UNREGISTERED""#), "\(dead.text)")
            let pushes = gateway.google.recording.pushes
            #expect(pushes.count == 2 && pushes.allSatisfy { $0.payload.contains(#""validate_only":true"#) })
            try await Self.nothingIsKept(by: gateway)
        }
    }

    /// `delivery.upstream` with `validateOnly` has Google check what is registered here.
    @Test func googleChecksForARegistrationToo() async throws {
        try await AndroidGateway.with { gateway in
            let upstream = #""validateOnly":true,"delivery":{"upstream":true}"#
            let good = try await gateway.register("device-0001:APA91bExample")
            let dead = try await gateway.register("unregistered-1:APA91bExample")
            #expect(try await gateway.answer(to: good, beside: upstream).status == 200)
            let refused = try await gateway.answer(to: dead, beside: upstream)
            #expect(refused.status == 404 && refused.text.contains(#""errorCode":"UNREGISTERED""#), "\(refused.text)")
            #expect(try await gateway.answer(to: dead, beside: #""validateOnly":true"#).status == 200)
            let pushes = gateway.google.recording.pushes
            #expect(pushes.count == 2 && pushes.allSatisfy { $0.payload.contains(#""validate_only":true"#) })
            let states = try await gateway.registrations().compactMap { $0["state"] as? String }
            #expect(states == ["ACTIVE", "ACTIVE"])
            let apple = try await gateway.admin.register(deviceToken: "0a")
            for (token, more) in [(apple, upstream), (good, #""delivery":{"upstream":true}"#)] {
                let wrong = try await gateway.answer(to: token, beside: more)
                #expect(wrong.status == 400 && wrong.text.contains(#""field":"delivery.upstream""#), "\(wrong.text)")
            }
        }
    }

    @Test func anAppThatRegistersKeepsItsToken() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            _ = try await gateway.send(to: Self.token, Self.text)
            #expect(try await gateway.register(Self.token) == Self.token)
            let name = try await gateway.send(to: Self.token, Self.text)
            #expect(try WholeGatewayTests.ledger(try await gateway.report(name))["accepted"] == 1)
            let pushes = gateway.google.recording.pushes
            #expect(pushes.map { $0.payload.contains(#""badge""#) } == [true, false])
            #expect(try await gateway.registrations().compactMap { $0["platform"] as? String } == ["ANDROID"])
        }
    }

    @Test func theProtocolBeforeV1RelaysEachToken() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            let answer = try await gateway.sender.post(
                "/fcm/send",
                #"{"registration_ids":["\#(Self.token)","unregistered-1:APA91bExample","x"],"data":{"a":"1"}}"#)
            #expect(answer.status == 200, "\(answer.text)")
            let results = try #require(try answer.json["results"] as? [[String: String]])
            #expect(results.first?["message_id"] != nil)
            #expect(results.map { $0["error"] } == [nil, "NotRegistered", "InvalidRegistration"])
            #expect(try await gateway.registrations().compactMap { $0["token"] as? String } == [Self.token])
        }
    }

    /// A backend deletes what is UNREGISTERED.
    @Test func aBatchDoesNotCallAnUnknownTokenUnregistered() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            for body in [
                #"{"message":{"data":{"a":"1"}},"tokens":["\#(Self.token)"]}"#,
                #"{"messages":[{"message":{"token":"\#(Self.token)","data":{"a":"1"}}}]}"#,
            ] {
                let answer = try await gateway.sender.post("/v1/projects/demo/messages:batchSend", body)
                #expect(answer.status == 200 && answer.text.contains("TOKEN_NOT_RELAYED"), "\(answer.text)")
            }
            #expect(gateway.google.recording.pushes.isEmpty)
        }
    }

    private static func nothingIsKept(by gateway: AndroidGateway) async throws {
        #expect(try await gateway.registrations().isEmpty)
        let messages = try await gateway.admin.get("/v1/projects/demo/messages")
        #expect((try messages.json["messages"] as? [Any] ?? []).isEmpty, "\(messages.text)")
    }
}

/// firebase-admin for Python as it comes from PyPI, with tokens that Google made.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(10)),
    .enabled(Python.current.expectation, { try await Python.current.isFound() }))
struct RelayedAdminSDKTests {
    @Test func tokensOfGoogleWorkAtOnce() async throws {
        try await AndroidGateway.with(relays: true) { gateway in
            try await ClientScript.adminSDK.run("relay", gateway.test, baseURL: gateway.process.baseURL)
            let tokens = gateway.google.recording.pushes.filter { $0.status == 200 }.map(\.deviceToken)
            #expect(Set(tokens) == ["cRelayedDevice_0000001:APA91bExample", "cRelayedDevice_0000002:APA91bExample"])
        }
    }
}

extension AndroidGateway {
    /// The answer to a message to one token.
    fileprivate func answer(to token: String, beside more: String? = nil) async throws -> APIClient.Answer {
        try await sender.post(
            "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(token)","data":{"a":"1"}}\#(more.map { "," + $0 } ?? "")}"#)
    }

    /// All registrations that have not ended.
    fileprivate func registrations() async throws -> [[String: Any]] {
        let listed = try await admin.get("/v1/projects/demo/registrations")
        return try listed.json["registrations"] as? [[String: Any]] ?? []
    }
}
