import Foundation
import JSON
import Simulators
import TestSupport
import Testing

@testable import herald

/// `herald tail` against a gateway that runs, and is killed.
@Suite(.timeLimit(.minutes(5)))
struct TailTests {
    private static func tail(
        _ options: [String], _ process: GatewayProcess, key: String
    ) throws -> ChildProcess {
        try ChildProcess(
            try GatewayProcess.executable(), ["tail"] + options,
            environment: GatewayProcess.environment(with: [
                "HERALD_GATEWAY": process.baseURL, "HERALD_KEY": key, "HERALD_PROJECT": "demo",
            ]))
    }

    /// What a tail printed of deliveries: message, registration and outcome of each.
    private static func ends(_ lines: [String]) throws -> [String] {
        try lines.filter { $0.hasPrefix("{") }.compactMap { line in
            let event = try JSONValue(parsing: Array(line.utf8))
            guard let type = event["type"]?.stringValue, type.hasPrefix("delivery.") else { return nil }
            let data = try #require(event["data"])
            let reason = data["reason"]?.stringValue ?? "-"
            return [
                try #require(data["registration"]?.stringValue), type.dropFirst("delivery.".count).uppercased(), reason,
            ].joined(separator: " ")
        }
    }

    /// The same by the report's list of deliveries.
    private static func recorded(
        _ message: String, _ process: GatewayProcess, _ keys: GatewayUnderTest.Keys
    ) async throws -> [String] {
        let api = APIClient(baseURL: process.baseURL, key: keys.sender)
        let page = try await api.get("/v1/\(message)/deliveries?pageSize=1000").json
        let deliveries = try #require(page["deliveries"] as? [[String: Any]])
        return try deliveries.map { delivery in
            let name = try #require(delivery["registration"] as? String)
            return [
                String(try #require(name.split(separator: "/").last)), try #require(delivery["outcome"] as? String),
                delivery["reason"] as? String ?? "-",
            ].joined(separator: " ")
        }
    }

    /// A first broadcast shows that both tails are connected, a second one is interrupted.
    @Test func theTailOfABroadcastIsItsLedgerAlsoThroughAKill() async throws {
        let settings = "limits:\n  pageSize: 20\n  inFlight: 40"
        try await GatewayUnderTest.with(settings: settings) { test in
            let first = try await test.start()
            let devices = try await WholeGatewayTests.registerDevices(200, first, test.keys)
            let refusal = Rule.Action.reject(status: 400, reason: "BadDeviceToken")
            test.simulator.rules.set(Rule(refusal), for: devices[0])
            let tail = try Self.tail(["--since", "1h", "--json"], first, key: test.keys.sender)
            let failures = try Self.tail(["--since", "1h", "--failures"], first, key: test.keys.sender)
            let before = try await WholeGatewayTests.broadcast(first, test.keys)
            _ = await tail.output.first(containing: "message.finished")
            _ = await failures.output.first(containing: "delivery.rejected")

            for (index, device) in devices.enumerated() {
                test.simulator.rules.set(
                    Rule(index % 5 == 0 ? refusal : .accept, delayMilliseconds: 100), for: device)
            }
            let message = try await WholeGatewayTests.broadcast(first, test.keys)
            await test.simulator.recording.wait(untilCount: 260)
            await first.end(with: SIGKILL)
            let port = try #require(first.baseURL.split(separator: ":").last.map(String.init))
            let process = try await test.start(environment: ["HERALD_LISTEN_PORT": port])
            _ = try await WholeGatewayTests.completeReport(message, process, test.keys)

            let recorded = try await Self.recorded(message, process, test.keys)
            #expect(recorded.count == 199, "the one that was rejected before is in quarantine")
            let rejected = recorded.filter { $0.contains("BadDeviceToken") }
            #expect(rejected.count == 39)
            for end in recorded {
                _ = await tail.output.first(
                    containing: #""message":"\#(message)","registration":"\#(end.prefix { $0 != " " })""#)
            }
            for end in rejected { _ = await failures.output.first(containing: String(end.prefix { $0 != " " })) }
            let all = try await Self.recorded(before, process, test.keys) + recorded
            #expect(try Self.ends(tail.output.lines).sorted() == all.sorted())
            let sequences = try tail.output.lines.filter { $0.hasPrefix("{") }.map { line in
                try #require(try JSONValue(parsing: Array(line.utf8))["sequence"]?.integerValue)
            }
            #expect(sequences == Array(1...sequences.count))
            #expect(failures.output.lines.count { $0.contains("delivery.rejected") } == rejected.count + 1)
            #expect(!failures.output.lines.contains { $0.contains("delivery.accepted") })
            for child in [tail, failures] {
                child.signal(SIGINT)
                #expect(await child.status() == 0)
            }
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func aLineSaysTimeKindMessageAppPlatformRegistrationAndReason() throws {
        let event = try JSONValue(
            parsing: Array(
                #"""
                {"sequence":7,"type":"delivery.rejected","timestamp":"2026-01-02T03:04:05.678Z",
                 "data":{"message":"projects/demo/messages/0:1","registration":"fid1","app":"com.example.app",
                         "platform":"android","reason":"BadDeviceToken","attempts":1}}
                """#.utf8))
        #expect(
            TailLine(event: event).text
                == "2026-01-02T03:04:05.678Z  delivery.rejected      0:1  com.example.app  android  fid1  BadDeviceToken"
        )
    }

    @Test(arguments: [("30s", 30), ("15m", 900), ("2h", 7200), ("3d", 259_200), ("0s", 0)] as [(String, Int)])
    func theStartIsAWholeNumberOfAUnit(text: String, seconds: Int) {
        #expect(TailStart(argument: text)?.duration == .seconds(seconds))
    }

    @Test(arguments: ["", "s", "5", "-5s", "1.5h", "1y", "367d", "99999999999999999999s"])
    func anotherStartIsRefused(text: String) {
        #expect(TailStart(argument: text) == nil)
    }
}
