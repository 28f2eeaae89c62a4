import Foundation
import Simulators
import Testing

/// The whole gateway as a process, against the simulator, over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct WholeGatewayTests {
    static let sample = """
        {"message":{"topic":"weather",
          "notification":{"title":"Portugal vs. Denmark","body":"great match!"},
          "apns":{"payload":{"aps":{"badge":1},"customKey":"customValue"}},
          "fcm_options":{"analytics_label":"match"}}}
        """
    static let payload =
        #"{"aps":{"alert":{"body":"great match!","title":"Portugal vs. Denmark"},"badge":1},"customKey":"customValue"}"#

    @Test func broadcastReachesEveryDeviceAndTheLedgerAgrees() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let devices = try await Self.registerDevices(500, process, test.keys)
            let message = try await Self.broadcast(process, test.keys)
            await test.simulator.recording.wait(untilCount: 500)
            let report = try await Self.completeReport(message, process, test.keys)

            let pushes = test.simulator.recording.pushes
            #expect(pushes.count == 500)
            #expect(Set(pushes.map(\.deviceToken)) == Set(devices))
            for push in pushes {
                #expect(push.payload == Self.payload)
                #expect(push.headers["apns-topic"] == "com.example.app")
                #expect(push.headers["apns-push-type"] == "alert")
                #expect(push.headers["apns-priority"] == "10")
                #expect(push.status == 200)
            }
            #expect(
                try Self.ledger(report) == [
                    "recipients": 500, "accepted": 500, "rejected": 0, "expired": 0,
                    "cancelled": 0, "inFlight": 0,
                ])
            try await Self.expectExportAgrees(message, pushes: pushes, process, test.keys)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func killInTheMiddleLosesNothing() async throws {
        let settings = "limits:\n  pageSize: 100\n  inFlight: 100"
        try await GatewayUnderTest.with(settings: settings) { test in
            var process = try await test.start()
            let devices = try await Self.registerDevices(500, process, test.keys)
            // A connection has one stream until its first answer: an answered push first, so that none waits behind a
            // silent one.
            try await Self.pushOnce(process, test.keys)
            test.simulator.recording.clear()
            // Every other device gets no answer: the pushes to a hundred of them fill the lane, so it stays in the middle.
            for device in devices.indices where device % 2 == 1 {
                test.simulator.rules.set(Rule(.neverAnswer), for: devices[device])
            }
            let message = try await Self.broadcast(process, test.keys)
            await test.simulator.recording.wait(untilCount: 100)
            await process.end(with: SIGKILL)
            #expect(test.simulator.recording.count < 500, "the kill has to come before the end")
            test.simulator.rules.clear()

            process = try await test.start()
            let report = try await Self.completeReport(message, process, test.keys)
            let pushes = test.simulator.recording.pushes
            #expect(Set(pushes.map(\.deviceToken)) == Set(devices))
            // What was in flight at the kill may come twice, but with the id of the first time.
            let ids = Dictionary(grouping: pushes, by: \.deviceToken).mapValues {
                Set($0.map { $0.headers["apns-id"] })
            }
            #expect(ids.values.allSatisfy { $0.count == 1 })
            #expect(
                try Self.ledger(report) == [
                    "recipients": 500, "accepted": 500, "rejected": 0, "expired": 0,
                    "cancelled": 0, "inFlight": 0,
                ])
            try await Self.expectExportAgrees(message, pushes: pushes, process, test.keys)
            // The ledger does not hide it: what came twice was in the hands of the run that was killed.
            let twice = Dictionary(grouping: pushes.compactMap { $0.headers["apns-id"] }, by: \.self)
                .filter { $1.count > 1 }
            #expect(!twice.isEmpty)
            for delivery in try await Self.deliveries(message, process, test.keys) {
                guard let id = delivery["apnsId"] as? String, twice[id] != nil else { continue }
                let attempts = try #require(delivery["attempts"] as? Int)
                let unknown = try #require(delivery["unknownAttempts"] as? Int)
                #expect(attempts >= 2 && unknown >= 1)
            }
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func everyKindOfAnswerEndsInItsLedgerRow() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let devices = try await Self.registerDevices(40, process, test.keys)
            let rules = test.simulator.rules
            rules.set(Rule(.reject(status: 400, reason: "BadDeviceToken")), for: devices[0])
            rules.set(Rule(.unregistered(since: Int64(Date().timeIntervalSince1970 * 1000) + 60_000)), for: devices[1])
            rules.set(Rule(.unregistered(since: 1_000_000_000_000)), for: devices[2])
            rules.set(Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 1), for: devices[3])
            rules.set(Rule(.reject(status: 429, reason: "TooManyRequests"), times: 1), for: devices[4])
            let report = try await Self.completeReport(
                try await Self.broadcast(process, test.keys), process, test.keys)
            #expect(
                try Self.ledger(report) == [
                    "recipients": 40, "accepted": 37, "rejected": 3, "expired": 0,
                    "cancelled": 0, "inFlight": 0,
                ])
            #expect(
                report["rejectedByReason"] as? [String: Int] == [
                    "BadDeviceToken": 1, "Unregistered": 1, "UnregisteredEarlier": 1,
                ])

            // The 410 that is younger than the registration ended it; the older one and BadDeviceToken did not.
            let second = try await Self.completeReport(
                try await Self.broadcast(process, test.keys), process, test.keys)
            #expect(second["audience"] as? Int == 39)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    // MARK: Steps

    static func registerDevices(
        _ count: Int, _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys
    ) async throws -> [String] {
        // One address may make only so many registrations with a client key.
        let client = APIClient(baseURL: process.baseURL, key: keys.admin)
        // Device tokens have any length: here 32 to 100 bytes.
        let devices = (0..<count).map { index in
            (0..<(32 + index % 69)).map { _ in String(format: "%02x", Int.random(in: 0...255)) }.joined()
        }
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            var tokens: [String] = []
            for (index, device) in devices.enumerated() {
                if index >= 32, let token = try await group.next() { tokens.append(token) }
                group.addTask { try await client.register(deviceToken: device) }
            }
            for try await token in group { tokens.append(token) }
            return tokens
        }
        let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await client.post(
            "/iid/v1:batchAdd", #"{"to":"/topics/weather","registration_tokens":[\#(list)]}"#)
        let results = try #require(try answer.json["results"] as? [[String: Any]])
        #expect(results.count == count)
        #expect(results.allSatisfy { $0.isEmpty })
        return devices
    }

    static func broadcast(_ process: GatewayProcess, _ keys: GatewayUnderTest.Keys) async throws -> String {
        let answer = try await APIClient(baseURL: process.baseURL, key: keys.sender)
            .post("/v1/projects/demo/messages:send", sample)
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(try answer.json["name"] as? String)
    }

    private static let ends = ["accepted", "rejected", "expired", "cancelled", "inFlight"]

    /// Asks for the report until the message is complete; checks on each answer that the ledger balances, as a whole and on
    /// each platform.
    static func completeReport(
        _ message: String, _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys
    ) async throws -> [String: Any] {
        let sender = APIClient(baseURL: process.baseURL, key: keys.sender)
        while true {
            let report = try await sender.get("/v1/\(message)").json
            let ledger = try ledger(report)
            #expect(ledger["recipients"] == ends.compactMap { ledger[$0] }.reduce(0, +), "\(ledger)")
            try checkPlatforms(of: report, ledger)
            if report["state"] as? String == "COMPLETE" { return report }
            // The API has no signal for "complete": a report is asked for, as its readers do.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func checkPlatforms(of report: [String: Any], _ ledger: [String: Int]) throws {
        let platforms = try #require(report["platforms"] as? [String: [String: Int]])
        for (platform, figures) in platforms {
            #expect(figures["recipients"] == ends.compactMap { figures[$0] }.reduce(0, +), "\(platform): \(figures)")
            let parts = (figures["recipients"] ?? 0) + (figures["passedOver"] ?? 0)
            #expect(figures["audience"] == parts, "\(platform): \(figures)")
        }
        for name in ["recipients"] + ends {
            #expect(platforms.values.compactMap { $0[name] }.reduce(0, +) == ledger[name], "\(name): \(platforms)")
        }
        let passedOver = (report["passedOver"] as? [String: Int] ?? [:]).values.reduce(0, +)
        #expect(platforms.values.compactMap { $0["passedOver"] }.reduce(0, +) == passedOver, "\(platforms)")
    }

    static func ledger(_ report: [String: Any]) throws -> [String: Int] {
        try #require(report["ledger"] as? [String: Int])
    }

    static func expectExportAgrees(
        _ message: String, pushes: [RecordedPush], _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys
    ) async throws {
        let sender = APIClient(baseURL: process.baseURL, key: keys.sender)
        let export = try await sender.get(
            "/v1/projects/demo/export?startTime=2020-01-01T00:00:00Z&endTime=2100-01-01T00:00:00Z&format=ndjson")
        let id = message.split(separator: "/").last.map(String.init)
        let rows = try export.text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }.filter { $0["message_id"] as? String == id }
        #expect(rows.allSatisfy { $0["analytics_label"] as? String == "match" })
        #expect(rows.allSatisfy { $0["event"] as? String == "MESSAGE_ACCEPTED" })
        // Row by row: each ledger row names a push that arrived, and each device that got a push has one row.
        let arrived = Set(pushes.compactMap { $0.headers["apns-id"] })
        #expect(Set(rows.compactMap { $0["apns_id"] as? String }) == arrived)
        #expect(rows.count == arrived.count)
        let deliveries = try await deliveries(message, process, keys)
        #expect(Set(deliveries.compactMap { $0["apnsId"] as? String }) == arrived)
    }

    /// Sends to a device of its own and waits until APNs has answered.
    static func pushOnce(_ process: GatewayProcess, _ keys: GatewayUnderTest.Keys) async throws {
        let token = try await APIClient(baseURL: process.baseURL, key: keys.client)
            .register(deviceToken: String(repeating: "0a", count: 32))
        let answer = try await APIClient(baseURL: process.baseURL, key: keys.sender).post(
            "/v1/projects/demo/messages:send", #"{"message":{"token":"\#(token)","notification":{"title":"first"}}}"#)
        _ = try await completeReport(try #require(try answer.json["name"] as? String), process, keys)
    }

    private static func deliveries(
        _ message: String, _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys
    ) async throws -> [[String: Any]] {
        let listed = try await APIClient(baseURL: process.baseURL, key: keys.sender)
            .get("/v1/\(message)/deliveries?pageSize=1000").json
        return try #require(listed["deliveries"] as? [[String: Any]])
    }
}
