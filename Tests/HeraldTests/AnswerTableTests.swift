import Foundation
import Simulators
import TestSupport
import Testing

/// The answers of the push services' tables that let a push wait, one service at a time through a whole gateway: what is
/// tried again arrives, and no answer about load or credential ends a registration.
@Suite(.timeLimit(.minutes(5)))
struct AnswerTableTests {
    /// A delivery of a message to one registration when it has ended, and the registration's state.
    private static func end(
        _ name: String, _ token: String, _ process: GatewayProcess, _ test: GatewayUnderTest
    ) async throws -> (delivery: [String: Any], state: String?) {
        _ = try await WholeGatewayTests.completeReport(name, process, test.keys)
        let admin = APIClient(baseURL: process.baseURL, key: test.keys.admin)
        let listed = try await admin.get("/v1/\(name)/deliveries").json["deliveries"] as? [[String: Any]]
        let state = try await admin.get("/v1/projects/demo/registrations/\(token)").json["state"] as? String
        return (try #require(listed?.first), state)
    }

    @Test func whatPassesAtAPushServiceIsTriedAgain() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            var rules = [406, 429, 500, 502, 503, 504].map {
                PushServiceRule(status: $0, retryAfterSeconds: 1, times: 1)
            }
            // The stream ends behind the request, without an answer.
            rules.append(PushServiceRule(reset: true, times: 1))
            var sent: [(rule: PushServiceRule, name: String, token: String)] = []
            for rule in rules {
                let (subscription, token) = try await web.register(with: process)
                web.service.rules.set(rule, for: subscription.id)
                let name = try await web.send(
                    #""token":"\#(token)","notification":{"title":"Hello"}"#, with: process)
                sent.append((rule, name, token))
            }
            for (rule, name, token) in sent {
                let (delivery, state) = try await Self.end(name, token, process, web.test)
                #expect(delivery["outcome"] as? String == "ACCEPTED", "\(rule) \(delivery)")
                #expect((delivery["attempts"] as? Int ?? 0) >= 2 && state == "ACTIVE", "\(rule) \(delivery)")
            }
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// A refused VAPID token is the gateway's matter: pushes wait, one is tried at a time, and no subscription ends.
    @Test(arguments: [401, 403]) func aRefusedVAPIDTokenHoldsPushesBackAndEndsNoSubscription(status: Int) async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            var tokens: [String] = []
            for _ in 0..<5 { tokens.append(try await web.register(with: process).token) }
            try await web.subscribe(tokens, with: process)
            web.service.rules.setDefault(PushServiceRule(status: status))
            let message = try await WholeGatewayTests.broadcast(process, web.test.keys)
            await web.service.recording.wait(untilCount: 1)
            _ = await process.line(containing: "pushes are held back")
            web.service.rules.clear()
            let report = try await WholeGatewayTests.completeReport(message, process, web.test.keys)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 5)
            let admin = APIClient(baseURL: process.baseURL, key: web.test.keys.admin)
            for token in tokens {
                let registration = try await admin.get("/v1/projects/demo/registrations/\(token)").json
                #expect(registration["state"] as? String == "ACTIVE")
            }
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func whatPassesAtGoogleIsTriedAgain() async throws {
        try await AndroidGateway.with { gateway in
            let faults: [GoogleFault] = [
                .projectQuota, .deviceQuota, .topicQuota, .quota, .internal, .unavailable, .badGateway, .reset,
            ]
            var sent: [(fault: GoogleFault, name: String, token: String)] = []
            for (number, fault) in faults.enumerated() {
                let device = "device-\(1000 + number):APA91bExample"
                gateway.google.rules.set(
                    GoogleRule(fault, retryAfterSeconds: fault == .reset ? nil : 1, times: 1), for: device)
                let token = try await gateway.register(device)
                sent.append((fault, try await gateway.send(to: token), token))
            }
            for (fault, name, token) in sent {
                let (delivery, state) = try await Self.end(name, token, gateway.process, gateway.test)
                #expect(delivery["outcome"] as? String == "ACCEPTED", "\(fault) \(delivery)")
                #expect((delivery["attempts"] as? Int ?? 0) >= 2 && state == "ACTIVE", "\(fault) \(delivery)")
                #expect(delivery["upstreamId"] as? String != nil, "\(fault) \(delivery)")
            }
        }
    }

    /// What Google holds for Apple or browsers is wrong: said of this push alone, and of no registration.
    @Test func aThirdPartysCredentialAtGoogleEndsThePushAlone() async throws {
        try await AndroidGateway.with { gateway in
            let token = try await gateway.register("third-party-1:APA91bExample")
            let (delivery, state) = try await Self.end(
                try await gateway.send(to: token), token, gateway.process, gateway.test)
            #expect(delivery["outcome"] as? String == "REJECTED" && state == "ACTIVE", "\(delivery)")
            #expect(delivery["reason"] as? String == "THIRD_PARTY_AUTH_ERROR")
        }
    }

    /// A sender who waits is told in Google's words.
    @Test func whoWaitsForGoogleHearsWhatItSaid() async throws {
        try await AndroidGateway.with { gateway in
            let expected = [
                ("device-0001:APA91bExample", 200, "ACCEPTED"), ("mismatch-1:APA91bExample", 403, "SENDER_ID_MISMATCH"),
                ("unregistered-1:APA91bExample", 404, "UNREGISTERED"),
                ("invalid-message-1:APA91bExample", 400, "PAYLOAD_REFUSED"),
                ("third-party-1:APA91bExample", 401, "UPSTREAM_CREDENTIAL_REFUSED"),
            ]
            for (device, status, word) in expected {
                let token = try await gateway.register(device)
                let answer = try await gateway.sender.post(
                    "/v1/projects/demo/messages:send",
                    #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#, prefer: "wait=25")
                #expect(answer.status == status && answer.text.contains(word), "\(device): \(answer.text)")
                #expect(!answer.text.contains("apnsReason"))
            }
        }
    }

    /// The message's life is counted for each platform by its own words.
    @Test func whatAppleIsAskedToTryOnceStaysWithGoogleAsLongAsAndroidSays() async throws {
        try await AndroidGateway.with { gateway in
            let token = try await gateway.register("device-0001:APA91bExample")
            let name = try await gateway.send(
                to: token,
                #""notification":{"title":"Hi"},"apns":{"headers":{"apns-expiration":"0"}},"android":{"ttl":"3600s"}"#)
            let report = try await gateway.report(name)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            let arrived = try #require(gateway.google.recording.pushes.first)
            let body = try #require(
                try JSONSerialization.jsonObject(with: Data(arrived.payload.utf8)) as? [String: Any])
            let android = try #require((body["message"] as? [String: Any])?["android"] as? [String: Any])
            let text = try #require(android["ttl"] as? String)
            #expect(try (3500...3600).contains(#require(Int(text.dropLast()))), "\(text)")
        }
    }

    @Test func aGoogleThatHangsHoldsUpNoSingleToApple() async throws {
        // Room for few pushes, which those to Android would fill.
        try await AndroidGateway.with(settings: "limits:\n  pageSize: 20\n  inFlight: 40") { gateway in
            var tokens: [String] = []
            for number in 1...60 { tokens.append(try await gateway.register("device-\(1000 + number):APA91bExample")) }
            try await gateway.subscribe(tokens)
            gateway.google.rules.set(GoogleRule(.silent), for: GoogleRuleBook.others)
            _ = try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys)
            await gateway.google.recording.wait(untilCount: 1)
            for number in 0..<20 {
                let apple = try await gateway.admin.register(deviceToken: "a\(10 + number)")
                let answer = try await gateway.sender.post(
                    "/v1/projects/demo/messages:send",
                    #"{"message":{"token":"\#(apple)","notification":{"title":"Code"}}}"#, prefer: "wait=30")
                #expect(answer.text.contains(#""outcome":"ACCEPTED""#), "\(answer.text)")
            }
            await gateway.process.end(with: SIGKILL)
        }
    }

    /// What was accepted reaches phones, Android and browsers, whatever a kill interrupts.
    @Test func aKillInABroadcastToAllThreePlatformsLosesNothing() async throws {
        try await WebPushUnderTest.with(settings: "limits:\n  pageSize: 20\n  inFlight: 80") { web in
            try await AndroidGateway.run(in: web.test) { gateway in
                let devices = try await WholeGatewayTests.registerDevices(40, gateway.process, web.test.keys)
                var tokens: [String] = []
                var browsers: Set<String> = []
                for number in 0..<40 {
                    tokens.append(try await gateway.register("device-\(1000 + number):APA91bExample"))
                    let (subscription, token) = try await web.register(with: gateway.process)
                    browsers.insert(subscription.id)
                    tokens.append(token)
                }
                try await gateway.subscribe(tokens)
                // Some of each get no answer, so that the kill comes in the middle.
                gateway.google.rules.set(GoogleRule(.silent), for: "device-100*")
                for id in browsers.prefix(10) { web.service.rules.set(PushServiceRule(neverAnswer: true), for: id) }
                for device in devices.prefix(10) { web.test.simulator.rules.set(Rule(.neverAnswer), for: device) }
                let message = try await WholeGatewayTests.broadcast(gateway.process, web.test.keys)
                await gateway.google.recording.wait(untilCount: 1)
                await web.service.recording.wait(untilCount: 1)
                await gateway.process.end(with: SIGKILL)
                gateway.google.rules.clear()
                web.service.rules.clear()
                for device in devices.prefix(10) { web.test.simulator.rules.set(Rule(.accept), for: device) }
                let next = try await web.test.start()
                let report = try await WholeGatewayTests.completeReport(message, next, web.test.keys)
                #expect(
                    try WholeGatewayTests.ledger(report) == [
                        "recipients": 120, "accepted": 120, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                    ])
                let accepted = gateway.google.recording.pushes.filter { $0.status == 200 }
                #expect(Set(accepted.map(\.deviceToken)).count == 40)
                #expect(Set(web.service.recording.pushes.filter { $0.status == 201 }.map(\.subscription)) == browsers)
                let apple = web.test.simulator.recording.pushes.filter { $0.status == 200 }
                #expect(Set(apple.map(\.deviceToken)) == Set(devices))
                #expect(await next.end(with: SIGTERM) == 0)
            }
        }
    }
}
