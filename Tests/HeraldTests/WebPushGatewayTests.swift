import Foundation
import Simulators
import TestSupport
import Testing

/// The whole gateway as a process, against a simulated push service and the simulated APNs, over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct WebPushGatewayTests {
    @Test func aTopicReachesDevicesAndBrowsersAlike() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            let devices = try await WholeGatewayTests.registerDevices(10, process, web.test.keys)
            var browsers: [PushSubscription] = []
            var tokens: [String] = []
            for _ in 0..<10 {
                let (subscription, token) = try await web.register(with: process)
                browsers.append(subscription)
                tokens.append(token)
            }
            try await web.subscribe(tokens, with: process)
            let message = try await WholeGatewayTests.broadcast(process, web.test.keys)
            let report = try await WholeGatewayTests.completeReport(message, process, web.test.keys)
            #expect(
                try WholeGatewayTests.ledger(report) == [
                    "recipients": 20, "accepted": 20, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                ])
            #expect(Set(web.test.simulator.recording.pushes.map(\.deviceToken)) == Set(devices))
            let pushes = web.service.recording.pushes
            #expect(Set(pushes.map(\.subscription)) == Set(browsers.map(\.id)) && pushes.count == 10)
            for push in pushes {
                #expect(push.status == 201 && push.problem == nil, "\(push)")
                #expect(push.senderKey == WebPushUnderTest.text(web.key))
                #expect(push.headers["urgency"] == "normal" && push.headers["content-encoding"] == "aes128gcm")
                let text = try #require(push.plaintext)
                let object = try #require(
                    JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
                let notification = try #require(object["notification"] as? [String: Any])
                #expect(object["web_push"] as? Int == 8030 && object["from"] as? String == "/topics/weather")
                #expect(notification["title"] as? String == "Portugal vs. Denmark")
                #expect(notification["navigate"] as? String == "https://www.example.com/")
            }
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func anUnknownSubscriptionEndsWhereItIsAlone() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            var browsers: [(subscription: PushSubscription, token: String)] = []
            for _ in 0..<30 { browsers.append(try await web.register(with: process)) }
            try await web.subscribe(browsers.map(\.token), with: process)
            func accepted() async throws -> Int? {
                let message = try await WholeGatewayTests.broadcast(process, web.test.keys)
                let report = try await WholeGatewayTests.completeReport(message, process, web.test.keys)
                return try WholeGatewayTests.ledger(report)["accepted"]
            }
            #expect(try await accepted() == 30)
            web.service.rules.set(PushServiceRule(status: 404), for: browsers[0].subscription.id)
            #expect(try await accepted() == 29)
            #expect(try await state(of: browsers[0].token, web, process) == "ENDED")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func aServiceThatKnowsNobodyEndsNobody() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            var tokens: [String] = []
            for _ in 0..<25 { tokens.append(try await web.register(with: process).token) }
            try await web.subscribe(tokens, with: process)
            web.service.rules.setDefault(PushServiceRule(status: 404))
            for _ in 0..<2 {
                let message = try await WholeGatewayTests.broadcast(process, web.test.keys)
                let report = try await WholeGatewayTests.completeReport(message, process, web.test.keys)
                #expect(try WholeGatewayTests.ledger(report)["rejected"] == 25)
                #expect(report["rejectedByReason"] as? [String: Int] == ["SubscriptionUnknown": 25])
            }
            for token in tokens { #expect(try await state(of: token, web, process) == "ACTIVE") }
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    private func state(of token: String, _ web: WebPushUnderTest, _ process: GatewayProcess) async throws -> String? {
        try await APIClient(baseURL: process.baseURL, key: web.test.keys.admin)
            .get("/v1/projects/demo/registrations/\(token)").json["state"] as? String
    }

    @Test func aDryRunWarnsOfAPayloadThatSomeBrowsersDoNotGet() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            let token = try await web.register(with: process).token
            for (length, warnings) in [(100, 0), (2800, 1)] {
                let text = String(repeating: "x", count: length)
                let answer = try await APIClient(baseURL: process.baseURL, key: web.test.keys.sender).post(
                    "/v1/projects/demo/messages:send",
                    #"{"validate_only":true,"message":{"token":"\#(token)","notification":{"title":"\#(text)"}}}"#)
                let said = try answer.json["warnings"] as? [[String: String]] ?? []
                #expect(said.count == warnings && said.allSatisfy { $0["reason"] == "LARGE_PAYLOAD" }, "\(answer.text)")
                let bytes = try #require(try answer.json["payloadBytes"] as? [String: Int])["www.example.com"]
                #expect(
                    said.allSatisfy { $0["description"]?.contains("\(bytes ?? 0) bytes: above 2700") == true },
                    "\(said)")
            }
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// What a service answers, what stands in the ledger, and whether the registration ends by it.
    struct Case: Sendable {
        let rule: PushServiceRule
        let outcome: String
        var reason: String?
        var isEnded = false
    }

    static let table: [Case] = [
        Case(rule: PushServiceRule(), outcome: "ACCEPTED"),
        Case(rule: PushServiceRule(status: 200), outcome: "ACCEPTED"),
        Case(rule: PushServiceRule(status: 202), outcome: "ACCEPTED"),
        Case(
            rule: PushServiceRule(status: 307, location: "https://127.0.0.1:1/"), outcome: "REJECTED", reason: "Moved"),
        Case(rule: PushServiceRule(status: 400), outcome: "REJECTED", reason: "BadRequest"),
        Case(rule: PushServiceRule(status: 404), outcome: "REJECTED", reason: "SubscriptionUnknown"),
        Case(rule: PushServiceRule(status: 410), outcome: "REJECTED", reason: "SubscriptionGone", isEnded: true),
        Case(
            rule: PushServiceRule(status: 404, body: #"{"errno":102}"#), outcome: "REJECTED",
            reason: "SubscriptionGone", isEnded: true),
        Case(rule: PushServiceRule(status: 413), outcome: "REJECTED", reason: "PayloadTooLarge"),
        Case(rule: PushServiceRule(status: 429, retryAfterSeconds: 1, times: 1), outcome: "ACCEPTED"),
        Case(rule: PushServiceRule(status: 503, retryAfterSeconds: 1, times: 1), outcome: "ACCEPTED"),
        Case(
            rule: PushServiceRule(status: 403, body: #"{"reason":"VapidPkHashMismatch"}"#), outcome: "REJECTED",
            reason: "KeyMismatch"),
    ]

    @Test func eachAnswerOfTheTableEndsInItsLedgerRow() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            let sender = APIClient(baseURL: process.baseURL, key: web.test.keys.admin)
            for entry in Self.table {
                let (subscription, token) = try await web.register(with: process)
                web.service.rules.set(entry.rule, for: subscription.id)
                let name = try await web.send(
                    #""token":"\#(token)","notification":{"title":"Hello"}"#, with: process)
                _ = try await WholeGatewayTests.completeReport(name, process, web.test.keys)
                let deliveries = try await sender.get("/v1/\(name)/deliveries").json["deliveries"] as? [[String: Any]]
                let delivery = try #require(deliveries?.first)
                #expect(delivery["outcome"] as? String == entry.outcome, "\(entry) \(delivery)")
                if entry.rule == PushServiceRule() {
                    let upstreamID = delivery["upstreamId"] as? String
                    #expect(upstreamID?.hasPrefix("https://127.0.0.1:") == true, "\(delivery)")
                    // Of thirty days, which the service grants, the message has lived for a moment.
                    let granted = (delivery["grantedTtl"] as? String).flatMap { Int($0.dropLast()) }
                    #expect(granted.map { (1...2_592_000).contains($0) } == true, "\(delivery)")
                }
                if let reason = entry.reason { #expect(delivery["reason"] as? String == reason, "\(entry)") }
                let state = try await sender.post(
                    "/v1/projects/demo/registrations:check", #"{"tokens":["\#(token)"]}"#
                ).text
                #expect(state.contains("ENDED") == entry.isEnded, "\(entry) \(state)")
                #expect(web.service.recording.pushes.allSatisfy { $0.subscription != "" }, "a redirect was followed")
            }
            // An end of its own: the browser took the permission back.
            let (subscription, token) = try await web.register(with: process)
            web.service.subscriptions.end(subscription.id)
            let name = try await web.send(#""token":"\#(token)","notification":{"title":"Hello"}"#, with: process)
            let report = try await WholeGatewayTests.completeReport(name, process, web.test.keys)
            #expect(report["rejectedByReason"] as? [String: Int] == ["SubscriptionGone": 1])
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func aSubscriptionStaysWithItsKeyAcrossARotation() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            let (_, before) = try await web.register(with: process)
            let (_, unstated) = try await web.register(isKeyStated: false, with: process)
            // Before it the other key is none of the app's: a page that uses it is told so.
            let early = await #expect(throws: ChildProcessError.self) {
                try await web.register(applicationKey: web.former, with: process)
            }
            #expect("\(String(describing: early))".contains("application_pub_key"))
            try web.writeApp(key: "former.pem", ["previousKeys: [KEYS/vapid.pem]"])
            process.signal(SIGHUP)
            _ = await process.line(containing: "project files read again")
            let (_, after) = try await web.register(applicationKey: web.former, with: process)
            for (token, key) in [(before, web.key), (after, web.former)] {
                let count = web.service.recording.count
                let name = try await web.send(#""token":"\#(token)","notification":{"title":"Hi"}"#, with: process)
                let report = try await WholeGatewayTests.completeReport(name, process, web.test.keys)
                #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
                #expect(web.service.recording.pushes.dropFirst(count).map(\.senderKey) == [WebPushUnderTest.text(key)])
            }
            // What did not say was made with the key of its time.
            let name = try await web.send(#""token":"\#(unstated)","notification":{"title":"Hi"}"#, with: process)
            let report = try await WholeGatewayTests.completeReport(name, process, web.test.keys)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func aPushServiceThatHangsHoldsUpNoDevice() async throws {
        // Room for few pushes, which those to the browsers would fill.
        try await WebPushUnderTest.with(settings: "limits:\n  pageSize: 20\n  inFlight: 40") { web in
            let process = try await web.test.start()
            var tokens: [String] = []
            for _ in 0..<60 { tokens.append(try await web.register(with: process).token) }
            try await web.subscribe(tokens, with: process)
            web.service.rules.setDefault(PushServiceRule(neverAnswer: true))
            _ = try await web.send(#""topic":"weather","notification":{"title":"Rain"}"#, with: process)
            await web.service.recording.wait(untilCount: 1)

            let devices = try await WholeGatewayTests.registerDevices(30, process, web.test.keys)
            _ = try await web.send(
                #""topic":"weather","notification":{"title":"Sun"},"android":{"priority":"normal"}"#, with: process)
            let recording = web.test.simulator.recording
            func reached() -> Set<String> {
                Set(recording.pushes.filter { $0.payload.contains("Sun") }.map(\.deviceToken))
            }
            var seen = recording.count
            while reached() != Set(devices) {
                await recording.wait(untilCount: seen + 1)
                seen = recording.count
            }
            // And single ones go at once.
            let token = try await APIClient(baseURL: process.baseURL, key: web.test.keys.admin)
                .register(deviceToken: "ab")
            let name = try await web.send(#""token":"\#(token)","notification":{"title":"Code"}"#, with: process)
            let report = try await WholeGatewayTests.completeReport(name, process, web.test.keys)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            await process.end(with: SIGKILL)
        }
    }

    /// What was accepted reaches every browser and every device, whatever a kill interrupts.
    @Test func aKillInAMixedBroadcastLosesNothing() async throws {
        let settings = "limits:\n  pageSize: 20\n  inFlight: 80"
        try await WebPushUnderTest.with(settings: settings) { web in
            var process = try await web.test.start()
            let devices = try await WholeGatewayTests.registerDevices(60, process, web.test.keys)
            var browsers: Set<String> = []
            var tokens: [String] = []
            for _ in 0..<60 {
                let (subscription, token) = try await web.register(with: process)
                browsers.insert(subscription.id)
                tokens.append(token)
            }
            try await web.subscribe(tokens, with: process)
            // Some get no answer, so that the kill comes in the middle.
            for id in browsers.prefix(15) { web.service.rules.set(PushServiceRule(neverAnswer: true), for: id) }
            for device in devices.prefix(15) { web.test.simulator.rules.set(Rule(.neverAnswer), for: device) }
            let message = try await WholeGatewayTests.broadcast(process, web.test.keys)
            await web.service.recording.wait(untilCount: 1)
            await web.test.simulator.recording.wait(untilCount: 1)
            await process.end(with: SIGKILL)
            web.service.rules.clear()
            web.test.simulator.rules.clear()
            process = try await web.test.start()
            let report = try await WholeGatewayTests.completeReport(message, process, web.test.keys)
            #expect(
                try WholeGatewayTests.ledger(report) == [
                    "recipients": 120, "accepted": 120, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                ])
            #expect(Set(web.test.simulator.recording.pushes.map(\.deviceToken)) == Set(devices))
            let arrived = web.service.recording.pushes.filter { $0.status == 201 }
            #expect(Set(arrived.map(\.subscription)) == browsers)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func theDoctorShowsTheKeysAndAsksTheServicesOfTheProject() async throws {
        try await WebPushUnderTest.with(more: ["previousKeys: [KEYS/former.pem]"]) { web in
            let doctor = ["doctor", "--config", web.test.configuration, "--json"]
            let well = try await GatewayProcess.run(doctor).lines.joined(separator: "\n")
            #expect(well.contains("pages subscribe with \(WebPushUnderTest.text(web.key))"), "\(well)")
            #expect(well.contains("subscriptions with \(WebPushUnderTest.text(web.former)) go on"))
            #expect(well.contains("\(web.place) answers as a push service does"))
            // A push that no browser can receive.
            #expect(web.service.recording.pushes.map(\.status) == [404])
            web.service.recording.clear()
        }
    }

    @Test func nothingButAPushServiceMayBeNamed() async throws {
        try await WebPushUnderTest.with { web in
            let process = try await web.test.start()
            let admin = APIClient(baseURL: process.baseURL, key: web.test.keys.admin)
            func register(_ endpoint: String) async throws -> APIClient.Answer {
                let subscription = web.service.subscriptions.subscribe()
                return try await admin.post(
                    "/v1/projects/demo/registrations",
                    #"{"web":{"endpoint":"\#(endpoint)","p256dh":"\#(WebPushUnderTest.text(subscription.publicKey))","#
                        + #""auth":"\#(WebPushUnderTest.text(subscription.secret))"}}"#)
            }
            // Nothing but push services may be named: the endpoint comes from a client.
            for endpoint in ["https://127.0.0.1:1/x", "https://metadata.google.internal/x", "https://10.0.0.1/x"] {
                let answer = try await register(endpoint)
                #expect(answer.status == 400 && answer.text.contains("web.endpoint"), "\(answer.text)")
            }
            #expect(try await register("https://fcm.googleapis.com/fcm/send/x").status == 200)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }
}
