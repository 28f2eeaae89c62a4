import Foundation
import JSON
import Simulators
import TestSupport
import Testing

@testable import herald

/// Webhooks of a whole gateway, to a receiver on this machine.
@Suite(.timeLimit(.minutes(5)))
struct WebhookGatewayTests {
    static let settings =
        "webhooks:\n  allowHTTP: [127.0.0.1]\n  allowNetworks: [127.0.0.0/8]\nlimits:\n  pageSize: 50\n  inFlight: 100"

    static func create(
        _ url: String, types: [String], _ rest: String = "", on process: GatewayProcess, _ test: GatewayUnderTest
    ) async throws -> (path: String, secret: String) {
        let api = APIClient(baseURL: process.baseURL, key: test.keys.admin)
        let list = types.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await api.post("/v1/projects/demo/webhooks", #"{"url":"\#(url)","types":[\#(list)]\#(rest)}"#)
        let name = try #require(try answer.json["name"] as? String, "\(answer.text)")
        let secrets = try #require(try answer.json["secrets"] as? [[String: Any]])
        return ("/v1/" + name, try #require(secrets.first?["value"] as? String))
    }

    /// What batches say of deliveries: registration and type by sequence.
    static func entries(_ requests: [WebhookReceiver.Request]) throws -> [Int: String] {
        var entries: [Int: String] = [:]
        for request in requests where request.text.hasPrefix(#"{"type":"delivery.batch""#) {
            guard case .array(let events)? = try JSONValue(parsing: request.body)["data"]?["events"] else { continue }
            for event in events {
                let sequence = try #require(event["sequence"]?.integerValue)
                let words = [event["registration"]?.stringValue, event["type"]?.stringValue]
                let entry = words.compactMap(\.self).joined(separator: " ")
                #expect(entries[sequence] == nil || entries[sequence] == entry)
                entries[sequence] = entry
            }
        }
        return entries
    }

    /// The same by the report's list of deliveries.
    static func recorded(
        _ message: String, _ process: GatewayProcess, _ test: GatewayUnderTest
    ) async throws -> [String] {
        let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
        let page = try await api.get("/v1/\(message)/deliveries?pageSize=1000").json
        let deliveries = try #require(page["deliveries"] as? [[String: Any]])
        return try deliveries.map { delivery in
            let name = try #require(delivery["registration"] as? String)
            let outcome = try #require(delivery["outcome"] as? String)
            return "\(try #require(name.split(separator: "/").last)) delivery.\(outcome.lowercased())"
        }
    }

    @Test func aBroadcastIsTold() async throws {
        try await GatewayUnderTest.with(settings: Self.settings) { test in
            let receiver = try WebhookReceiver()
            let process = try await test.start()
            _ = try await WholeGatewayTests.registerDevices(120, process, test.keys)
            let (path, _) = try await Self.create(
                receiver.url("/hook"),
                types: ["message.accepted", "message.finished", "delivery.accepted", "delivery.rejected"], on: process,
                test)
            let message = try await WholeGatewayTests.broadcast(process, test.keys)
            let finished = try await receiver.first { $0.text.contains("message.finished") }
            #expect(finished.text.contains(#""recipients":120,"accepted":120"#), "\(finished.text)")
            #expect(receiver.requests.first?.text.contains("message.accepted") == true)
            let told = try Self.entries(receiver.requests)
            #expect(try await Set(told.values) == Set(Self.recorded(message, process, test)) && told.count == 120)
            let sequences = receiver.requests.map(\.id)
            #expect(Set(sequences).count == sequences.count && receiver.mostAtOnce == 1)
            let api = APIClient(baseURL: process.baseURL, key: test.keys.admin)
            let metrics = try await api.get("/metrics").text
            #expect(metrics.contains(#"herald_webhook_attempts_total{result="taken"}"#))
            #expect(try await api.get(path).json["state"] as? String == "ENABLED")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// The gateway is killed in the middle of a broadcast, and once more in the middle of its webhooks: all that the ledger
    /// has is told, and what comes twice is what was under way, as it was and with its id.
    @Test func nothingIsLostByKills() async throws {
        try await GatewayUnderTest.with(settings: Self.settings) { test in
            let receiver = try WebhookReceiver()
            var process = try await test.start()
            let devices = try await WholeGatewayTests.registerDevices(300, process, test.keys)
            _ = try await Self.create(
                receiver.url("/hook"), types: ["delivery.accepted", "delivery.rejected", "message.finished"],
                #","batching":{"maxEvents":7,"maxDelay":"0.05s"}"#, on: process, test)
            for device in devices { test.simulator.rules.set(Rule(.accept, delayMilliseconds: 50), for: device) }
            let message = try await WholeGatewayTests.broadcast(process, test.keys)
            for count in [3, 12, 25] {
                await receiver.untilReceived(count)
                await process.end(with: SIGKILL)
                process = try await test.start()
            }
            _ = try await WholeGatewayTests.completeReport(message, process, test.keys)
            _ = try await receiver.first { $0.text.contains("message.finished") }
            let told = try Self.entries(receiver.requests)
            let recorded = try await Self.recorded(message, process, test)
            #expect(recorded.count == 300 && Set(told.values) == Set(recorded) && told.count == 300)
            // Repeats: the one that was under way at a kill, to the byte.
            let byID = Dictionary(grouping: receiver.requests, by: \.id)
            #expect(byID.values.allSatisfy { Set($0.map(\.body)).count == 1 })
            let repeats = byID.values.reduce(0) { $0 + $1.count - 1 }
            #expect(repeats <= 3, "\(repeats) repeats")
            let entries = receiver.requests.reduce(0) {
                $0 + $1.text.components(separatedBy: #""sequence":"#).count - 1
            }
            #expect(entries <= 300 + 3 * 7)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func commandsMakeTestListAndDeleteWebhooks() async throws {
        try await GatewayUnderTest.with(settings: Self.settings) { test in
            let receiver = try WebhookReceiver { request, _ in
                request.path == "/bad" ? .answer("500 Internal Server Error", body: "no") : .answer("200 OK")
            }
            let process = try await test.start()
            let environment = [
                "HERALD_GATEWAY": process.baseURL, "HERALD_KEY": test.keys.admin, "HERALD_PROJECT": "demo",
            ]
            func run(_ arguments: String...) async throws -> (status: Int32, text: String) {
                let ended = try await GatewayProcess.run(["webhook"] + arguments, environment: environment)
                return (ended.status, ended.lines.joined(separator: "\n"))
            }
            let made = try await run("create", receiver.url("/bad"), "--type", "message.finished", "--asymmetric")
            #expect(made.status == 0 && made.text.contains("whsec_") && made.text.contains("whpk_"), "\(made.text)")
            let id = try #require(made.text.firstMatch(of: /Webhook +(\S+)/)?.output.1).description
            let failed = try await run("test", id)
            #expect(failed.status != 0 && failed.text.contains("500"))
            let api = APIClient(baseURL: process.baseURL, key: test.keys.admin)
            _ = try await api.send("PATCH", "/v1/projects/demo/webhooks/\(id)", #"{"url":"\#(receiver.url("/good"))"}"#)
            #expect(try await run("test", id).status == 0)
            #expect(try await run("list").text.contains(receiver.url("/good")))
            #expect(try await run("attempts", id).text.contains("webhook.test"))
            #expect(try await run("rotate", id).text.contains("whsec_"))
            #expect(try await run("replay", id, "--dry-run").text.contains("0 events would be sent"))
            #expect(try await run("state", id, "disable").text.contains("DISABLED"))
            #expect(try await run("delete", id).status == 0)
            #expect(try await run("list").text == "No webhooks.")
            let refused = try await run("create", "http://example.com/", "--type", "message.finished")
            #expect(refused.status != 0 && refused.text.contains("allowHTTP"))
            let own = try await run(
                "create", process.baseURL + "/v1/projects/demo/webhooks", "--type", "message.finished")
            #expect(own.status != 0 && own.text.contains("own listener"), "\(own.text)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }
}

extension WebhookReceiver {
    /// The first request of a kind, past or future.
    func first(where isMeant: (Request) -> Bool) async throws -> Request {
        var count = 0
        while true {
            let all = requests
            if let found = all.dropFirst(count).first(where: isMeant) { return found }
            count = all.count
            await untilReceived(count + 1)
        }
    }
}
