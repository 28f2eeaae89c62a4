import Foundation
import NIOHTTP1
import Simulators
import TestSupport
import Testing

@Suite("Scenarios at the wire", .timeLimit(.minutes(5)))
struct ScenarioWireTests {
    /// Runs `body` with a connection that plays this scenario.
    private func play(
        _ text: String, configure: (inout SimulatedAPNS.Configuration) -> Void = { _ in },
        _ body: (SimulatorHarness, WireClient) async throws -> Void
    ) async throws {
        let set = ScenarioSet([try Scenario(text: text)], seed: 7)
        try await SimulatorHarness.run(
            configure: {
                $0.scenarios = set
                configure(&$0)
            },
            { harness async throws in
                try await WireClient.run(with: harness) { try await body(harness, $0) }
                #expect(harness.simulator.statistics.streamViolations == 0)
            })
    }

    @Test("stream-ramp: SETTINGS say 1, then more")
    func streamRamp() async throws {
        try await play("stream-ramp,streamLimit=10,every=2,factor=4") { _, client async throws in
            var limits: [Int?] = []
            for number in 1...5 { limits += try await client.push(number).map { $0.setting(3) } }
            #expect(limits.compactMap { $0 } == [1, 4, 10])
        }
    }

    @Test("collapse-after-reject: SETTINGS 1, and REFUSED_STREAM for what came before the acknowledgement")
    func collapse() async throws {
        try await play("collapse-after-reject,share=0") { harness, client async throws in
            try await client.push(1)
            harness.simulator.rules.set(Rule(.reject(status: 400, reason: "BadDeviceToken")), for: "00000003")
            try await client.send(2...5)
            let frames = try await client.frames(acknowledging: false) { $0.endsStream(of: 5) }
            #expect(frames.compactMap { $0.setting(3) } == [1])
            #expect(frames.filter { $0.kind == .resetStream }.map { $0.number(at: 0) } == [7, 7])
            #expect(harness.simulator.statistics.pushes == 3)
            try await client.acknowledge()
            #expect(try await client.push(6).compactMap { $0.setting(3) } == [1000])
        }
    }

    @Test("goaway-shutdown: 503 Shutdown, GOAWAY with Apple's JSON, later streams are ignored, then the end")
    func shutdown() async throws {
        try await play("goaway-shutdown,after=3,spread=0,lingerMilliseconds=100") { harness, client async throws in
            for number in 1...2 { try await client.push(number) }
            try await client.send(3...5)
            let frames = try await client.frames()
            let goAway = try #require(frames.first { $0.kind == .goAway })
            #expect(goAway.number(at: 0) == 5)
            #expect(goAway.number(at: 4) == 0)
            #expect(String(decoding: goAway.payload.dropFirst(8), as: UTF8.self) == #"{"reason":"Shutdown"}"#)
            #expect(frames.contains { $0.endsStream(of: 3) })
            #expect(!frames.contains { $0.endsStream(of: 4) || $0.endsStream(of: 5) })
            #expect(harness.simulator.statistics.byReason == ["Shutdown": 1])
            #expect(harness.simulator.recording.count == 3)
        }
    }

    @Test("goaway-partial: answers up to the middle, nothing beyond, and nothing beyond was looked at")
    func partial() async throws {
        try await play("goaway-partial,after=2,spread=0,held=6,lingerMilliseconds=100") {
            harness, client async throws in
            try await client.push(1)
            try await client.send(2...7)
            let frames = try await client.frames()
            let goAway = try #require(frames.first { $0.kind == .goAway })
            #expect(goAway.number(at: 0) == 7)
            #expect((2...7).filter { number in frames.contains { $0.endsStream(of: number) } } == [2, 3, 4])
            #expect(harness.simulator.recording.count == 4)
            #expect(
                harness.simulator.statistics.scenarioActions
                    == ["goaway-partial": ["hold": 6, "goAway": 1, "beyondLastStream": 3]])
        }
    }

    @Test("drop: the end without GOAWAY and without an answer, by FIN or by RST", arguments: [0, 1])
    func drop(abrupt: Int) async throws {
        try await play("drop,after=2,spread=0,abrupt=\(abrupt)") { harness, client async throws in
            try await client.push(1)
            try await client.send(2...2)
            let frames = try await client.frames()
            #expect(!frames.contains { $0.kind == .goAway || $0.endsStream(of: 2) })
            #expect(client.connection.isReset == (abrupt == 1))
            #expect(harness.simulator.statistics.unanswered == 1)
            #expect(harness.simulator.statistics.scenarioActions == ["drop": ["drop": 1]])
        }
    }

    @Test("reset: RST_STREAM with the code; refused streams are not recorded", arguments: [2, 7])
    func reset(code: Int) async throws {
        try await play("reset,share=1,errorCode=\(code)") { harness, client async throws in
            let frames = try await client.push(1)
            #expect(frames.last?.kind == .resetStream)
            #expect(frames.last?.number(at: 0) == code)
            #expect(harness.simulator.recording.count == (code == 7 ? 0 : 1))
        }
    }

    private let pingData: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    @Test("half-open: not even a PING is answered")
    func halfOpen() async throws {
        try await play("half-open,after=2,spread=0,connections=1") { harness, client async throws in
            try await client.connection.write(WireClient.frame(.ping, pingData))
            #expect(try await client.push(1).contains { $0.kind == .ping })
            let bytes = client.bytes.count
            try await client.send(2...2)
            try await client.connection.write(WireClient.frame(.ping, pingData))
            // Another connection is served in the meantime: time enough for an answer that must not come.
            for _ in 0..<20 { #expect(try await harness.send().status == 200) }
            while harness.simulator.statistics.scenarioActions.isEmpty {
                // On a busy machine the connection's own loop may come later still.
                #expect(try await harness.send().status == 200)
            }
            #expect(client.bytes.count == bytes)
            #expect(harness.simulator.statistics.scenarioActions == ["half-open": ["freeze": 1]])
            #expect(harness.simulator.recording.pushes.count { $0.connection == 1 } == 1)
        }
    }

    @Test("slow: answers come later, but they come")
    func slow() async throws {
        try await play("slow,medianMilliseconds=200,p99Milliseconds=200") { _, client async throws in
            let begin = ContinuousClock.now
            let frames = try await client.push(1)
            #expect(frames.last?.endsStream(of: 1) == true)
            #expect(ContinuousClock.now - begin >= .milliseconds(190))
        }
    }

    @Test(
        "Refusals have status, reason and headers",
        arguments: [
            ("too-many-requests,share=1,retryAfterSeconds=9", 429, "TooManyRequests", "9"),
            ("unavailable-burst", 503, "ServiceUnavailable", nil),
            ("token-updates,after=1,spread=0", 429, "TooManyProviderTokenUpdates", nil),
            ("expired-wedge,after=1,spread=0", 403, "ExpiredProviderToken", nil),
            ("expired-wedge,after=1,spread=0,status=500", 500, "InternalServerError", nil),
            ("unrelated-key,after=1,spread=0", 403, "UnrelatedKeyIdInToken", nil),
            ("bad-device-share,share=1", 400, "BadDeviceToken", nil),
            ("unregistered-share,share=1,ageSeconds=60", 410, "Unregistered", nil),
        ] as [(String, Int, String, String?)])
    func refusals(text: String, status: Int, reason: String, retryAfter: String?) async throws {
        let set = ScenarioSet([try Scenario(text: text)])
        try await SimulatorHarness.run(configure: { $0.scenarios = set }) { harness async throws in
            let answer = try await harness.send()
            #expect(answer.status == status)
            #expect(answer.reason == reason)
            #expect(answer.headers.first(name: "retry-after") == retryAfter)
            #expect(answer.timestamp == (status == 410 ? harness.clock.now - 60_000 : nil))
            #expect(harness.simulator.recording.pushes.first?.reason == reason)
            #expect(harness.simulator.statistics.byReason == [reason: 1])
        }
    }

    @Test("token-updates: the rule of 20 minutes can be another")
    func tokenInterval() async throws {
        let set = ScenarioSet([try Scenario(text: "token-updates,share=0,intervalSeconds=10")])
        try await SimulatorHarness.run(configure: { $0.scenarios = set }) { harness async throws in
            var push = TestPush()
            push.authorization = "bearer " + (try harness.token())
            #expect(try await harness.send(push).status == 200)
            harness.clock.advance(seconds: 9)
            push.authorization = "bearer " + (try harness.token())
            #expect(try await harness.send(push).reason == "TooManyProviderTokenUpdates")
            harness.clock.advance(seconds: 1)
            push.authorization = "bearer " + (try harness.token())
            #expect(try await harness.send(push).status == 200)
        }
    }

    @Test("flow-control-stall: tiny windows, and they open by and by")
    func stall() async throws {
        try await play("flow-control-stall,windowBytes=10,stepBytes=16,everyMilliseconds=5") { _, client async throws in
            let first = try #require(try await client.connection.next())
            #expect(first.setting(4) == 10)
            try await client.acknowledge()
            let body = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)
            try await client.connection.write(
                WireClient.frame(.headers, flags: 4, stream: 1, try client.headers(1))
                    + WireClient.frame(.data, stream: 1, Array(body.prefix(10))))
            let update = try await client.frames { $0.kind == .windowUpdate && $0.stream == 1 }
            #expect(update.last?.number(at: 0) == 16)
            try await client.connection.write(WireClient.frame(.data, flags: 1, stream: 1, Array(body.dropFirst(10))))
            #expect(try await client.frames { $0.endsStream(of: 1) }.last?.endsStream(of: 1) == true)
        }
    }

    @Test("flow-control-stall: a client library gets through")
    func stallWithLibrary() async throws {
        let set = ScenarioSet([try Scenario(text: "flow-control-stall,everyMilliseconds=2")])
        try await SimulatorHarness.run(configure: { $0.scenarios = set }) { harness async throws in
            var push = TestPush()
            push.body = RequestCheckTests.payload(bytes: 2000)
            for _ in 0..<3 { #expect(try await harness.send(push).status == 200) }
        }
    }

    @Test("flow-control-stall: many at once get through")
    func stallOfMany() async throws {
        let set = ScenarioSet([try Scenario(text: "flow-control-stall,windowBytes=8,stepBytes=8,everyMilliseconds=2")])
        try await SimulatorHarness.run(configure: { $0.scenarios = set }) { harness async throws in
            let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<300 {
                    group.addTask { try await harness.send(TestPush().to(String(format: "%08x", number))).status }
                }
                return try await group.reduce(into: 0) { $0 += $1 == 200 ? 1 : 0 }
            }
            #expect(accepted == 300)
            #expect(harness.simulator.statistics.streamViolations == 0)
        }
    }

    @Test("settings-flap: one SETTINGS after the other")
    func flap() async throws {
        try await play("settings-flap,streamLimit=3,every=2") { _, client async throws in
            var limits: [Int] = []
            for number in 1...8 { limits += try await client.push(number).compactMap { $0.setting(3) } }
            // The beginning, the widening, then the flaps.
            #expect(limits.count == 6)
            #expect(Array(limits.prefix(2)) == [1, 1000] && limits[3] == 1000 && limits[5] == 1000)
            #expect((1...3).contains(limits[2]) && (1...3).contains(limits[4]))
        }
    }

    @Test("big-headers: as many bytes as asked for, in one frame")
    func bigHeaders() async throws {
        try await play("big-headers,headerBytes=12000") { _, client async throws in
            let frames = try await client.push(1)
            let headers = try #require(frames.last { $0.kind == .headers })
            #expect(headers.flags & 4 == 4)
            #expect((8000...16_384).contains(headers.payload.count))
        }
        let set = ScenarioSet([try Scenario(text: "big-headers,headerBytes=12000")])
        try await SimulatorHarness.run(configure: { $0.scenarios = set }) { harness async throws in
            let answer = try await harness.send()
            #expect(answer.status == 200)
            #expect(
                answer.headers.filter { $0.name.hasPrefix("x-simulated-") }.reduce(0) { $0 + $1.value.count } == 12_000)
        }
    }

    @Test("A run with the same seed is the same run, over several connections")
    func repeatable() async throws {
        func run(seed: UInt64) async throws -> [[Int]] {
            let set = ScenarioSet(
                [
                    Scenario(.tooManyRequests), try Scenario(text: "reset=2,share=0.3"), Scenario(.unregisteredShare),
                ], seed: seed)
            var ends: [[Int]] = []
            try await SimulatorHarness.run(configure: { $0.scenarios = set }) { harness async throws in
                for _ in 0..<5 {
                    try await WireClient.run(with: harness) { client in
                        var lengths: [Int] = []
                        for number in 1...20 {
                            lengths.append(Int(try await client.push(number).last?.kind?.rawValue ?? 255))
                        }
                        ends.append(lengths)
                    }
                }
            }
            return ends
        }
        let first = try await run(seed: 7)
        #expect(first.count == 5)
        #expect(try await run(seed: 7) == first)
        #expect(try await run(seed: 8) != first)
    }

    @Test("scenarios.json is read at the start, unless the configuration has scenarios")
    func file() async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        try #"{"seed":3,"scenarios":[{"name":"bad-device-share","share":1}]}"#
            .write(toFile: directory.file("scenarios.json"), atomically: true, encoding: .utf8)
        try await SimulatorHarness.run(identity) { harness async throws in
            #expect(try await harness.send().reason == "BadDeviceToken")
            #expect(harness.simulator.scenarios.scenarioSet.seed == 3)
        }
        try await SimulatorHarness.run(identity, configure: { $0.scenarios = ScenarioSet() }) { harness async throws in
            #expect(try await harness.send().status == 200)
        }
        try "[]".write(toFile: directory.file("scenarios.json"), atomically: true, encoding: .utf8)
        let error = await #expect(throws: SimulatorError.self) { try await SimulatorHarness.run(identity) { _ in } }
        #expect(error?.description.contains("scenarios.json: the document: must be an object") == true)
    }

    @Test("The control endpoint changes scenarios, for open connections too")
    func control() async throws {
        try await SimulatorHarness.run(configure: { $0.controlPort = 0 }) { harness async throws in
            #expect(try await harness.control(.GET, "/scenarios").body == "{\"scenarios\":[],\"seed\":1}\n")
            #expect(try await harness.send().status == 200)
            let set = #"{"scenarios":[{"name":"bad-device-share","share":1}],"seed":3}"#
            #expect(try await harness.control(.PUT, "/scenarios", body: set).status == 204)
            #expect(
                try await harness.control(.GET, "/scenarios").body
                    == #"{"scenarios":[{"name":"bad-device-share","share":1,"weight":1}],"seed":3}"# + "\n")
            #expect(try await harness.send().reason == "BadDeviceToken")
            let wrong = try await harness.control(.PUT, "/scenarios", body: #"{"scenarios":[{"name":"x"}]}"#)
            #expect(wrong.status == 400 && wrong.body.contains("scenarios.Index 0.name: is no scenario"))
            #expect(try await harness.control(.PUT, "/scenarios", body: "{").status == 400)
            #expect(try await harness.control(.POST, "/scenarios").status == 405)
            #expect(try await harness.send().reason == "BadDeviceToken")
            #expect(
                try await harness.control(.GET, "/statistics").body.contains(
                    #""scenarioActions":{"bad-device-share":{"BadDeviceToken":2}}"#))
            #expect(try await harness.control(.DELETE, "/scenarios").status == 204)
            #expect(try await harness.send().status == 200)
        }
    }

    @Test("A change undoes the limit and the windows that the scenario before it left")
    func undone() async throws {
        try await play("flow-control-stall") { harness, client async throws in
            try await client.push(1)
            harness.simulator.scenarios.set(ScenarioSet([try Scenario(text: "stream-ramp")]))
            let ramp = try await client.push(2)
            #expect(ramp.compactMap { $0.setting(4) } == [65_535])
            #expect(ramp.compactMap { $0.setting(3) } == [1, 4])
            harness.simulator.scenarios.set(ScenarioSet())
            #expect(try await client.push(3).compactMap { $0.setting(3) } == [1000])
        }
    }

    @Test("Requests that a scenario holds are answered when it is taken back")
    func heldRequests() async throws {
        try await play("goaway-partial,after=2,spread=0,waitMilliseconds=3600000") { harness, client async throws in
            try await client.push(1)
            try await client.send(2...3)
            harness.simulator.scenarios.set(ScenarioSet())
            try await client.send(4...4)
            let frames = try await client.frames { $0.endsStream(of: 4) }
            #expect((2...4).allSatisfy { number in frames.contains { $0.endsStream(of: number) } })
        }
    }
}
