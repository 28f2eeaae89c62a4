import Foundation
import Simulators
import TestSupport
import Testing

@testable import herald

/// Android through Google, with the whole gateway as a process and a simulated Google over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct AndroidGatewayTests {
    @Test func aMessageGoesToGoogleAndItsNameStandsInTheLedger() async throws {
        try await AndroidGateway.with { gateway in
            let token = try await gateway.register("device-0001:APA91bExample")
            let name = try await gateway.send(
                to: token,
                #""notification":{"title":"Hi"},"data":{"a":"1"},"android":{"ttl":"60s","priority":"high"},"apns":{"payload":{"aps":{"badge":1}}}"#
            )
            let report = try await gateway.report(name)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            let arrived = try #require(gateway.google.recording.pushes.first)
            #expect(arrived.deviceToken == "device-0001:APA91bExample" && arrived.status == 200)
            let body = try #require(
                try JSONSerialization.jsonObject(with: Data(arrived.payload.utf8)) as? [String: Any])
            let message = try #require(body["message"] as? [String: Any])
            #expect(message["apns"] == nil && message["topic"] == nil)
            let ttl = try #require((message["android"] as? [String: Any])?["ttl"] as? String)
            #expect(try (50...60).contains(#require(Int(ttl.dropLast()))))
            let delivery = try #require(try await gateway.deliveries(name).first)
            #expect(delivery["upstreamId"] as? String == arrived.apnsID)
            #expect(gateway.google.tokenRequests == 1)
        }
    }

    @Test func oneTopicReachesBothPlatforms() async throws {
        try await AndroidGateway.with { gateway in
            let devices = try await WholeGatewayTests.registerDevices(100, gateway.process, gateway.test.keys)
            var tokens: [String] = []
            for number in 1...100 { tokens.append(try await gateway.register("device-\(1000 + number):APA91bExample")) }
            try await gateway.subscribe(tokens)
            let name = try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys)
            let report = try await gateway.report(name)
            #expect(
                try WholeGatewayTests.ledger(report) == [
                    "recipients": 200, "accepted": 200, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                ])
            #expect(Set(gateway.test.simulator.recording.pushes.map(\.deviceToken)) == Set(devices))
            #expect(Set(gateway.google.recording.pushes.map(\.deviceToken)).count == 100)
            let ids = try await gateway.deliveries(name).compactMap { $0["upstreamId"] as? String }
            #expect(Set(ids) == Set(gateway.google.recording.pushes.compactMap(\.apnsID)))
        }
    }

    @Test func anExportSaysWhatAMessageIsOnEachPlatform() async throws {
        try await AndroidGateway.with { gateway in
            _ = try await WholeGatewayTests.registerDevices(1, gateway.process, gateway.test.keys)
            try await gateway.subscribe([try await gateway.register("device-0001:APA91bExample")])
            let answer = try await gateway.sender.post(
                "/v1/projects/demo/messages:send",
                #"{"message":{"topic":"weather","notification":{"title":"1:0"},"#
                    + #""apns":{"headers":{"apns-collapse-id":"score","apns-priority":"5"}},"#
                    + #""android":{"collapse_key":"match","priority":"high","ttl":"60s"}}}"#)
            let name = try #require(try answer.json["name"] as? String, "\(answer.text)")
            #expect(try WholeGatewayTests.ledger(try await gateway.report(name))["accepted"] == 2)
            let export = try await gateway.sender.get(
                "/v1/projects/demo/export?startTime=2020-01-01T00:00:00Z&endTime=2100-01-01T00:00:00Z&format=ndjson")
            let rows = try export.text.split(separator: "\n").map { line in
                let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return ["sdk_platform", "collapse_key", "priority", "ttl"].map { "\(row?[$0] ?? "-")" }
            }
            #expect(Set(rows) == [["IOS", "score", "5", "2592000"], ["ANDROID", "match", "10", "60"]])
        }
    }

    @Test func everyAnswerOfGoogleEndsInItsLedgerRow() async throws {
        try await AndroidGateway.with { gateway in
            let expected: [(device: String, reason: String, state: String)] = [
                ("unregistered-1:APA91bExample", "UNREGISTERED", "ENDED"),
                ("invalid-token-1:APA91bExample", "INVALID_TOKEN", "QUARANTINED"),
                ("mismatch-1:APA91bExample", "SENDER_ID_MISMATCH", "ACTIVE"),
                ("invalid-message-1:APA91bExample", "INVALID_ARGUMENT", "ACTIVE"),
            ]
            for (device, reason, state) in expected {
                let token = try await gateway.register(device)
                let name = try await gateway.send(to: token)
                let report = try await gateway.report(name)
                #expect(try WholeGatewayTests.ledger(report)["rejected"] == 1, "\(device)")
                let delivery = try #require(try await gateway.deliveries(name).first)
                #expect(delivery["reason"] as? String == reason)
                let registration = try await gateway.admin.get("/v1/projects/demo/registrations/\(token)").json
                #expect(registration["state"] as? String == state, "\(device): \(registration)")
                // In Google's word, none of Apple's.
                let quarantine = registration["quarantineReason"] as? String
                #expect(quarantine == (state == "QUARANTINED" ? reason : nil))
            }
            let later = try await gateway.register("device-0001:APA91bExample")
            gateway.google.rules.set(
                GoogleRule(.unavailable, retryAfterSeconds: 1, times: 1), for: "device-0001:APA91bExample")
            let report = try await gateway.report(try await gateway.send(to: later))
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
        }
    }

    /// The fault of other relays: a broken service account that looks like dead devices.
    @Test(arguments: [GoogleFault.permissionDenied, .serviceDisabled, .projectMissing, .page, .unauthenticated])
    func aBrokenAccountEndsNoRegistration(fault: GoogleFault) async throws {
        try await AndroidGateway.with { gateway in
            var tokens: [String] = []
            for number in 1...20 { tokens.append(try await gateway.register("device-\(1000 + number):APA91bExample")) }
            try await gateway.subscribe(tokens)
            gateway.google.rules.set(GoogleRule(fault), for: GoogleRuleBook.others)
            let name = try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys)
            await gateway.google.recording.wait(untilCount: 1)
            _ = await gateway.process.line(containing: "pushes are held back")
            gateway.google.rules.clear()
            let report = try await gateway.report(name)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 20)
            for token in tokens {
                let registration = try await gateway.admin.get("/v1/projects/demo/registrations/\(token)").json
                #expect(registration["state"] as? String == "ACTIVE")
            }
        }
    }

    /// While no access token is given Apple's pushes go on, and Android's wait.
    @Test func pushesWaitForAnAccessToken() async throws {
        try await AndroidGateway.with { gateway in
            gateway.google.rules.set(GoogleRule(.unavailable, times: 2), for: GoogleRuleBook.tokenRequests)
            let android = try await gateway.register("device-0001:APA91bExample")
            let held = try await gateway.send(to: android)
            _ = await gateway.process.line(containing: "no access token for the service account")
            let apple = try await gateway.admin.register(deviceToken: "0a")
            let sent = try await gateway.report(try await gateway.send(to: apple))
            #expect(try WholeGatewayTests.ledger(sent)["accepted"] == 1)
            #expect(try WholeGatewayTests.ledger(try await gateway.report(held))["accepted"] == 1)
            #expect(gateway.google.tokenRequests == 3)
        }
    }

    @Test func killInAMixedBroadcastLosesNothing() async throws {
        let settings = "limits:\n  pageSize: 50\n  inFlight: 100"
        try await AndroidGateway.with(settings: settings) { gateway in
            let devices = try await WholeGatewayTests.registerDevices(150, gateway.process, gateway.test.keys)
            var tokens: [String] = []
            for number in 1...150 { tokens.append(try await gateway.register("device-\(1000 + number):APA91bExample")) }
            try await gateway.subscribe(tokens)
            gateway.google.rules.set(GoogleRule(.silent), for: GoogleRuleBook.others)
            let name = try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys)
            await gateway.google.recording.wait(untilCount: 1)
            await gateway.process.end(with: SIGKILL)
            gateway.google.rules.clear()
            let process = try await gateway.test.start()
            let report = try await WholeGatewayTests.completeReport(name, process, gateway.test.keys)
            #expect(
                try WholeGatewayTests.ledger(report) == [
                    "recipients": 300, "accepted": 300, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                ])
            #expect(Set(gateway.test.simulator.recording.pushes.map(\.deviceToken)) == Set(devices))
            let accepted = gateway.google.recording.pushes.filter { $0.status == 200 }
            #expect(Set(accepted.map(\.deviceToken)).count == 150)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// Another gateway in Google's place: the whole loop with an accept path that knows nothing of the relay.
    @Test func aGatewayRelaysToAGateway() async throws {
        try await GatewayUnderTest.with { last in
            let tls = [
                "HERALD_LISTEN_CERTIFICATE": last.identity.directory + "/server.pem",
                "HERALD_LISTEN_KEY": last.identity.directory + "/server-key.pem",
            ]
            let target = try await last.start(environment: tls)
            let account = last.directory.file("account.json")
            let made = try await GatewayProcess.run([
                "service-account", "create", "--config", last.configuration, "--project", "demo", "--name", "relay",
                "--out", account, "--token-uri", target.baseURL + "/token",
            ])
            #expect(made.status == 0, "\(made.lines)")
            let device = String(repeating: "0a", count: 32)
            let made2 = try await Self.register(device, at: target, last)
            try await GatewayUnderTest.with { first in
                try AndroidGateway.addApp(
                    to: first.directory.file("projects/demo.yaml"), account: account,
                    endpoint: String(target.baseURL.dropFirst("https://".count)), trust: last.identity.caFile)
                let process = try await first.start()
                let admin = APIClient(baseURL: process.baseURL, key: first.keys.admin)
                let registered = try await admin.post(
                    "/v1/projects/demo/registrations",
                    #"{"android":{"fcm_token":"\#(made2)","package_name":"\#(AndroidGateway.app)"}}"#)
                let token = try #require(try registered.json["token"] as? String, "\(registered.text)")
                let sent = try await admin.post(
                    "/v1/projects/demo/messages:send",
                    #"{"message":{"token":"\#(token)","notification":{"title":"Hi"},"data":{"a":"1"}}}"#)
                let name = try #require(try sent.json["name"] as? String, "\(sent.text)")
                let report = try await WholeGatewayTests.completeReport(name, process, first.keys)
                #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1, "\(report)")
                await last.simulator.recording.wait(untilCount: 1)
                let push = try #require(last.simulator.recording.pushes.first)
                #expect(push.deviceToken == device && push.payload.contains(#""title":"Hi""#))
                #expect(await process.end(with: SIGTERM) == 0)
            }
            #expect(await target.end(with: SIGTERM) == 0)
        }
    }

    /// Registers a device at a gateway that listens with TLS, by the command.
    private static func register(
        _ device: String, at process: GatewayProcess, _ test: GatewayUnderTest
    ) async throws -> String {
        let made = try await GatewayProcess.run(
            [
                "register", "--gateway", process.baseURL, "--ca", test.identity.caFile, "--key", test.keys.admin,
                "--project", "demo", "--app",
                "com.example.app", "--device-token", device, "--json",
            ])
        let text = made.lines.joined(separator: "\n")
        guard let token = text.firstMatch(of: /"token":\s*"([^"]+)"/)?.1 else { throw ChildProcessError(text) }
        return String(token)
    }
}
