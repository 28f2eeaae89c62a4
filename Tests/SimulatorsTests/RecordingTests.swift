import Foundation
import NIOHTTP1
import Simulators
import TestSupport
import Testing

@Suite("Pushes are recorded", .timeLimit(.minutes(5)))
struct RecordingTests {
    @Test("A recorded push holds what was sent and answered, but no credential")
    func contents() async throws {
        try await SimulatorHarness.run { harness async throws in
            let id = "ec1bf194-b3b2-424a-89a9-5a918a6e6b5d"
            let push = TestPush().to("AA01").setting("apns-id", id).setting("apns-priority", "9")
            #expect(try await harness.send(push).status == 400)
            let recorded = try #require(harness.simulator.recording.pushes.first)
            #expect(recorded.number == 1)
            #expect(recorded.time == harness.clock.now)
            #expect(recorded.connection == 1)
            #expect(recorded.deviceToken == "aa01")
            #expect(recorded.headers["apns-topic"] == "com.example.app")
            #expect(recorded.headers["authorization"] == nil)
            #expect(!recorded.headers.keys.contains { $0.hasPrefix(":") })
            #expect(recorded.payload == push.body)
            #expect(recorded.status == 400)
            #expect(recorded.reason == "BadPriority")
            #expect(recorded.apnsID == id)
        }
    }

    @Test("Waiting ends when enough have arrived, the stream shows each")
    func waiting() async throws {
        try await SimulatorHarness.run { harness async throws in
            let recording = harness.simulator.recording
            let arrivals = recording.arrivals()
            async let waited: Void = recording.wait(untilCount: 3)
            for token in ["aa01", "aa02", "aa03"] { _ = try await harness.send(TestPush().to(token)) }
            await waited
            #expect(recording.count == 3)
            var tokens: [String] = []
            for await push in arrivals {
                tokens.append(push.deviceToken)
                if tokens.count == 3 { break }
            }
            #expect(tokens == ["aa01", "aa02", "aa03"])
            recording.clear()
            #expect(recording.count == 0)
            #expect(recording.pushes.isEmpty)
            _ = try await harness.send()
            #expect(recording.pushes.map(\.number) == [1])
        }
    }

    @Test("Waiting ends when the task is cancelled")
    func cancelledWait() async {
        let recording = Recording(limit: 1)
        let task = Task { await recording.wait(untilCount: 1) }
        task.cancel()
        await task.value
        #expect(recording.count == 0)
    }

    @Test("Only the last pushes are remembered, all are counted")
    func bounded() async throws {
        try await SimulatorHarness.run(configure: { $0.recordingLimit = 2 }) { harness async throws in
            for _ in 0..<5 { _ = try await harness.send() }
            let recording = harness.simulator.recording
            #expect(recording.count == 5)
            #expect(recording.pushes.map(\.number) == [4, 5])
            #expect(recording.pushes(after: 4).map(\.number) == [5])
            #expect(recording.pushes(after: 9).isEmpty)
            #expect(recording.pushes(after: 0).map(\.number) == [4, 5])
        }
    }

    @Test("The recording file gets every push as a line and is appended to after a restart")
    func file() async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        let path = directory.file("pushes.ndjson")
        for run in 1...2 {
            try await SimulatorHarness.run(identity, configure: { $0.recordingFile = path }) { harness async throws in
                for token in ["aa01", "aa02"] { _ = try await harness.send(TestPush().to(token)) }
            }
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            let pushes = try lines.map { try JSONDecoder().decode(RecordedPush.self, from: Data($0.utf8)) }
            #expect(pushes.map(\.deviceToken) == Array(repeating: ["aa01", "aa02"], count: run).flatMap { $0 })
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
    }
}

@Suite("The control endpoint shows and sets", .timeLimit(.minutes(5)))
struct ControlEndpointTests {
    private func run(_ body: (SimulatorHarness) async throws -> Void) async throws {
        try await SimulatorHarness.run(configure: { $0.controlPort = 0 }, body)
    }

    @Test("Pushes are listed, listed after a number, and forgotten")
    func pushes() async throws {
        try await run { harness async throws in
            for token in ["aa01", "aa02"] { _ = try await harness.send(TestPush().to(token)) }
            let all = try await harness.control(.GET, "/pushes")
            #expect(all.status == 200)
            let decoded = try all.body.split(separator: "\n").map {
                try JSONDecoder().decode(RecordedPush.self, from: Data($0.utf8))
            }
            #expect(decoded == harness.simulator.recording.pushes)
            let later = try await harness.control(.GET, "/pushes?after=1")
            #expect(later.body.split(separator: "\n").count == 1)
            #expect(try await harness.control(.GET, "/pushes?after=x").status == 400)
            #expect(try await harness.control(.DELETE, "/pushes").status == 204)
            #expect(harness.simulator.recording.count == 0)
        }
    }

    @Test("Rules are set, shown and removed")
    func rules() async throws {
        try await run { harness async throws in
            let rule = #"{"reject":{"reason":"BadDeviceToken","status":400}}"#
            #expect(try await harness.control(.PUT, "/rules/AA01", body: rule).status == 204)
            #expect(try await harness.control(.PUT, "/rules/default", body: #"{"delayMilliseconds":1}"#).status == 204)
            #expect(try await harness.send(TestPush().to("aa01")).reason == "BadDeviceToken")
            let shown = try await harness.control(.GET, "/rules").body
            #expect(shown == #"{"default":{"delayMilliseconds":1},"devices":{"aa01":\#(rule)}}"# + "\n")
            #expect(try await harness.control(.DELETE, "/rules/aa01").status == 204)
            #expect(try await harness.send(TestPush().to("aa01")).status == 200)
            #expect(try await harness.control(.DELETE, "/rules/default").status == 204)
            #expect(harness.simulator.rules.ruleSet == RuleSet())
        }
    }

    @Test(
        "Mistakes are reported",
        arguments: [
            (HTTPMethod.PUT, "/rules/aa01", "{", 400, "is not JSON"),
            (.PUT, "/rules/aa01", #"{"reject":{"status":"x"}}"#, 400, "reject.status: must be a whole number"),
            (.PUT, "/rules/xyz", "{}", 400, "xyz: must be 'default', 'management' or a device token in hex"),
            (.POST, "/rules", "{}", 405, "POST is not possible here"),
            (.GET, "/nothing", "", 404, "there is /pushes, /rules, /channels, /scenarios and /statistics"),
            (.PUT, "/rules/aa01", String(repeating: " ", count: 70_000), 413, "the body is longer than 64 KiB"),
        ])
    func errors(method: HTTPMethod, path: String, body: String, status: Int, problem: String) async throws {
        try await run { harness async throws in
            let answer = try await harness.control(method, path, body: body.isEmpty ? nil : body)
            #expect(answer.status == status)
            #expect(answer.body == "{\"error\":\"\(problem)\"}\n")
        }
    }

    @Test("A name that is not local is refused")
    func foreignHost() async throws {
        try await run { harness async throws in
            let answer = try await harness.control(.GET, "/pushes", headers: ["host": "evil.example"])
            #expect(answer.status == 403)
        }
    }

    @Test("Statistics count by reason")
    func statistics() async throws {
        try await run { harness async throws in
            _ = try await harness.send()
            _ = try await harness.send(TestPush().setting("apns-topic", nil))
            let text = try await harness.control(.GET, "/statistics").body
            let statistics = try JSONDecoder().decode(Statistics.self, from: Data(text.utf8))
            #expect(statistics.connections == 1)
            #expect(statistics.pushes == 2)
            #expect(statistics.accepted == 1)
            #expect(statistics.byReason == ["MissingTopic": 1])
            #expect(statistics.streamViolations == 0)
        }
    }
}
