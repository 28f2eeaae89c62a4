import AsyncHTTPClient
import Foundation
import NIOCore
import Simulators
import TestSupport
import Testing

@Suite("Rules decide about device tokens", .timeLimit(.minutes(5)))
struct RuleTests {
    @Test("A rejected device token gets status and reason, others are accepted")
    func reject() async throws {
        try await SimulatorHarness.run { harness async throws in
            harness.simulator.rules.set(Rule(.reject(status: 400, reason: "BadDeviceToken")), for: "AA01")
            let refused = try await harness.send(TestPush().to("aa01"))
            #expect(refused.status == 400)
            #expect(refused.reason == "BadDeviceToken")
            #expect(refused.timestamp == nil)
            #expect(try await harness.send(TestPush().to("aa02")).status == 200)
        }
    }

    @Test("An unregistered device token is 410 with the time")
    func unregistered() async throws {
        try await SimulatorHarness.run { harness async throws in
            harness.simulator.rules.set(Rule(.unregistered(since: 1_767_225_600_123)), for: "aa01")
            let answer = try await harness.send(TestPush().to("aa01"))
            #expect(answer.status == 410)
            #expect(answer.reason == "Unregistered")
            #expect(answer.timestamp == 1_767_225_600_123)
        }
    }

    @Test("A delayed answer comes after the delay, not before")
    func delay() async throws {
        try await SimulatorHarness.run { harness async throws in
            _ = try await harness.send()
            harness.simulator.rules.set(Rule(.accept, delayMilliseconds: 300), for: "aa01")
            let clock = ContinuousClock()
            let begin = clock.now
            let answer = try await harness.send(TestPush().to("aa01"))
            #expect(answer.status == 200)
            #expect(clock.now - begin >= .milliseconds(300))
        }
    }

    @Test("A push that is never answered is recorded without a status and keeps the client waiting until it gives up")
    func neverAnswer() async throws {
        try await SimulatorHarness.run { harness async throws in
            harness.simulator.rules.set(Rule(.neverAnswer), for: "aa01")
            let silent = Task { try await harness.send(TestPush().to("aa01")).status }
            await harness.simulator.recording.wait(untilCount: 1)
            #expect(harness.simulator.recording.pushes.map(\.status) == [0])
            #expect(harness.simulator.statistics.unanswered == 1)
            // The connection still has one stream only: it widens with the first answer.
            silent.cancel()
            await #expect(throws: (any Error).self) { try await silent.value }
            let answer = try await harness.send()
            #expect(answer.status == 200)
        }
    }

    @Test("A client's own deadline ends a push that is never answered")
    func deadline() async throws {
        try await SimulatorHarness.run { harness async throws in
            harness.simulator.rules.setDefault(Rule(.neverAnswer))
            var push = TestPush()
            push.timeout = .seconds(1)
            let begin = ContinuousClock.now
            await #expect(throws: HTTPClientError.deadlineExceeded) { try await harness.send(push) }
            #expect(ContinuousClock.now - begin >= .seconds(1))
        }
    }

    @Test("A rule with times ends by itself")
    func times() async throws {
        try await SimulatorHarness.run { harness async throws in
            harness.simulator.rules.setDefault(Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 2))
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await harness.send().status) }
            #expect(statuses == [503, 503, 200])
            #expect(harness.simulator.rules.ruleSet == RuleSet())
        }
    }

    @Test("A request that Apple would refuse does not use a rule up")
    func checksComeFirst() async throws {
        try await SimulatorHarness.run { harness async throws in
            harness.simulator.rules.set(
                Rule(.reject(status: 500, reason: "InternalServerError"), times: 1), for: "aa01")
            #expect(try await harness.send(TestPush().to("aa01").setting("apns-topic", nil)).status == 400)
            #expect(try await harness.send(TestPush().to("aa01")).status == 500)
        }
    }

    @Test("rules.json is read at start")
    func file() async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        let text = #"""
            {"default": {"unregistered": {"since": 5}},
             "devices": {"AA01": {"reject": {"status": 429, "reason": "TooManyRequests"}, "times": 1},
                         "aa02": {"neverAnswer": true}, "aa03": {"delayMilliseconds": 1}}}
            """#
        try text.write(toFile: directory.file("rules.json"), atomically: true, encoding: .utf8)
        try await SimulatorHarness.run(identity) { harness async throws in
            #expect(harness.simulator.rules.ruleSet.devices["aa02"] == Rule(.neverAnswer))
            #expect(try await harness.send(TestPush().to("aa01")).reason == "TooManyRequests")
            #expect(try await harness.send(TestPush().to("aa01")).timestamp == 5)
            #expect(try await harness.send(TestPush().to("aa03")).status == 200)
        }
    }

    @Test(
        "A garbled rules.json is refused by file and key",
        arguments: [
            ("{", "is not JSON"),
            (#"{"defaults": {}}"#, "defaults: unknown key; known are default, devices, channels, management"),
            (#"{"devices": {"aa": {"reject": {"status": 400}}}}"#, "devices.aa.reject.reason: is missing"),
            (
                #"{"devices": {"aa": {"reject": {"status": 200, "reason": "x"}}}}"#,
                "devices.aa.reject: status must be 400 to 599"
            ),
            (#"{"devices": {"xyz": {}}}"#, "devices.xyz: is not a device token in hex"),
            (#"{"default": {"times": 0}}"#, "default.times: must be at least 1"),
            (#"{"default": {"delayMilliseconds": "1"}}"#, "default.delayMilliseconds: must be a whole number"),
            (
                #"{"default": {"neverAnswer": true, "unregistered": {"since": 1}}}"#,
                "default.neverAnswer: cannot stand beside 'unregistered'"
            ),
            (
                #"{"default": {"neverAnswers": true}}"#,
                "default.neverAnswers: unknown key; known are reject, unregistered, neverAnswer, delayMilliseconds, times"
            ),
        ])
    func garbledFile(text: String, problem: String) async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        let file = directory.file("rules.json")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let error = await #expect(throws: SimulatorError.self) {
            try await SimulatorHarness.run(identity) { _ in }
        }
        #expect(error?.description.hasSuffix("rules.json: \(problem)") == true, "\(error?.description ?? "")")
    }

    @Test(
        "A rule reads back what it wrote",
        arguments: [
            Rule(.accept), Rule(.accept, delayMilliseconds: 5, times: 2),
            Rule(.reject(status: 503, reason: "Shutdown")),
            Rule(.unregistered(since: 1)), Rule(.neverAnswer, times: 1),
        ])
    func roundTrip(rule: Rule) throws {
        #expect(try JSONDecoder().decode(Rule.self, from: JSONEncoder().encode(rule)) == rule)
    }
}
