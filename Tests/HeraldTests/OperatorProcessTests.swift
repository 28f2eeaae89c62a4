import Foundation
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Simulators
import Store
import TestSupport
import Testing

@testable import herald

/// What an operator does beside a running gateway, as processes.
@Suite(.timeLimit(.minutes(5)))
struct OperatorProcessTests {
    @Test func anImportThatIsKilledGoesOnToItsEnd() async throws {
        let count = 120_000
        try await GatewayUnderTest.with { test in
            let file = test.directory.file("in.ndjson")
            let rows = (0..<count).map {
                #"{"app":"com.example.app","device_token":"\#(String(repeating: "0", count: 58))\#(String(0x100000 + $0, radix: 16))","topics":["news"]}"#
            }
            try Data(rows.joined(separator: "\n").utf8).write(to: URL(filePath: file))
            let arguments = ["registration", "import", file, "--project", "demo", "--config", test.configuration]
            let store = try SQLiteStore(
                directory: test.directory.file("data"), role: .command, logger: Logger(label: "test"))
            let project = try #require(ProjectID(rawValue: "demo"))
            let imported = { try await store.activeRegistrations(of: project, after: RegistrationKey(rawValue: 0)) }
            let process = try ChildProcess(
                try GatewayProcess.executable(), arguments, environment: GatewayProcess.environment(with: [:]))
            // The store has no signal for other processes' commits: it is asked until there are some.
            while try await imported() == 0 {}
            process.signal(SIGKILL)
            #expect(await process.status() == -SIGKILL)
            let before = try await imported()
            #expect((1..<count).contains(before))

            let resumed = try await GatewayProcess.run(arguments + ["--resume"])
            #expect(resumed.status == 0, "\(resumed.lines)")
            #expect(
                resumed.lines.last?.contains("\(count) registrations imported, 0 rejected") == true, "\(resumed.lines)")
            #expect(try await imported() == count)
            #expect(
                try await store.audience(of: .topic(try #require(Topic(rawValue: "news"))), in: project) == count)
            // It came to its end: there is nothing to go on with.
            #expect(try await GatewayProcess.run(arguments + ["--resume"]).status == 64)
            #expect(try await store.check() == [])
            try store.close()
        }
    }

    @Test func messagesAreListedPausedResumedAndCancelled() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            _ = try await WholeGatewayTests.registerDevices(30, process, test.keys)
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let answer = try await api.post(
                "/v1/projects/demo/messages:send",
                #"{"message":{"topic":"weather","notification":{"title":"slow"}},"delivery":{"rate":1}}"#)
            #expect(answer.status == 200, "\(answer.text)")
            let name = try #require(answer.json["name"] as? String)
            let id = try #require(name.split(separator: "/").last.map(String.init))
            let environment = [
                "HERALD_GATEWAY": process.baseURL, "HERALD_KEY": test.keys.sender, "HERALD_PROJECT": "demo",
            ]
            let message = { (arguments: [String]) in
                try await GatewayProcess.run(["message"] + arguments, environment: environment)
            }
            for (command, state) in [("pause", "PAUSED"), ("resume", "ACTIVE"), ("pause", "PAUSED")] {
                let made = try await message([command, name, "--json"])
                #expect(made.status == 0 && made.lines.joined().contains(#""\#(state)""#), "\(made.lines)")
                #expect(try await api.get("/v1/\(name)").json["state"] as? String == state)
            }
            let paused = try await message(["list", "--state", "paused"])
            #expect(paused.status == 0 && paused.lines.contains { $0.contains(id) }, "\(paused.lines)")
            let active = try await message(["list", "--state", "active"])
            #expect(active.lines == ["No messages."])

            let cancelled = try await message(["cancel", id])
            #expect(
                cancelled.status == 0 && cancelled.lines.contains { $0.hasPrefix("State      CANCELLED") },
                "\(cancelled.lines)")
            var ledger: [String: Int] = [:]
            repeat {
                ledger = try WholeGatewayTests.ledger(try await api.get("/v1/\(name)").json)
                // The API has no signal for "booked".
                try await Task.sleep(for: .milliseconds(20))
            } while ledger["recipients"] != 30 || ledger["inFlight"] != 0
            #expect(ledger["cancelled", default: 0] > 0)
            #expect(ledger["accepted", default: 0] + ledger["cancelled", default: 0] == 30)
            #expect(test.simulator.recording.pushes.count == ledger["accepted"])
            // Nothing goes on after that.
            let resumed = try await message(["resume", id, "--json"])
            #expect(
                resumed.status == 1 && resumed.lines.joined().contains("FAILED_PRECONDITION"), "\(resumed.lines)")
            let unknown = try await message(["pause", "not-a-message"])
            #expect(unknown.status != 0 && unknown.lines.count == 1, "\(unknown)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// A device token of 32 bytes.
    private static func device(_ number: Int) -> String { String(repeating: "b\(number)", count: 32) }

    /// Runs commands against a gateway with an admin key.
    private static func command(
        _ process: GatewayProcess, _ test: GatewayUnderTest
    ) -> @Sendable ([String]) async throws -> (status: Int32, lines: [String]) {
        let environment = [
            "HERALD_GATEWAY": process.baseURL, "HERALD_KEY": test.keys.admin, "HERALD_PROJECT": "demo",
        ]
        return { try await GatewayProcess.run($0, environment: environment) }
    }

    @Test func whyAndStatusShowTheOutcomeOfASend() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let run = Self.command(process, test)
            let admin = APIClient(baseURL: process.baseURL, key: test.keys.admin)
            test.simulator.rules.set(
                Rule(.unregistered(since: Int64(Date().timeIntervalSince1970 * 1000) + 60_000)), for: Self.device(2))
            let alive = try await admin.register(deviceToken: Self.device(1))
            let gone = try await admin.register(deviceToken: Self.device(2))
            let fid = try #require(alive.split(separator: ":").first.map(String.init))
            let named = try await admin.send(
                "PATCH", "/v1/projects/demo/registrations/\(fid)", #"{"user":"alice"}"#)
            #expect(named.status == 200, "\(named.text)")

            let sent = try await run(["send", "--token", alive, "--title", "Hi", "--wait"])
            #expect(sent.status == 0 && sent.lines.last == "ACCEPTED", "\(sent.lines)")
            let message = try #require(sent.lines.first { $0.hasPrefix("projects/demo/messages/") })
            let refused = try await run(["send", "--token", gone, "--title", "Hi", "--wait"])
            #expect(refused.status != 0, "\(refused.lines)")

            for target in [["--user", "alice"], ["--token", alive], ["--fid", fid]] {
                let general = try await run(["why"] + target)
                #expect(general.status == 0 && general.lines.first?.hasPrefix(fid) == true, "\(general.lines)")
                let one = try await run(["why"] + target + ["--message", message])
                #expect(one.lines.contains { $0.contains("ACCEPTED") }, "\(one.lines)")
            }
            let ended = try await run(["why", "--token", gone])
            #expect(ended.status == 0 && ended.lines.first?.contains("410") == true, "\(ended.lines)")
            let json = try await run(["why", "--user", "alice", "--json"])
            #expect(json.lines.count == 1 && json.lines[0].contains(#""verdict":"ACCEPTED""#), "\(json.lines)")
            let unknown = try await run(["why", "--fid", "cUnknownFID00000000000"])
            #expect(unknown.status != 0 && unknown.lines.joined().contains("NOT_FOUND"), "\(unknown.lines)")
            #expect(try await run(["why", "--user", "bob"]).status != 0)

            let status = try await run(["status"])
            #expect(status.status == 0, "\(status.lines)")
            #expect(status.lines.contains("Store: takes writes") && status.lines.contains("Pauses: none"))
            #expect(
                status.lines.contains { $0.contains("REJECTED") && $0.contains("Unregistered") }, "\(status.lines)")
            #expect(status.lines.contains { $0.contains("127.0.0.1:") && $0.contains("closed") }, "\(status.lines)")
            let object = try await run(["status", "--json"])
            #expect(object.lines.count == 1 && object.lines[0].contains(#""backlog":[]"#), "\(object.lines)")
            let sender = try await GatewayProcess.run(
                ["status"],
                environment: [
                    "HERALD_GATEWAY": process.baseURL, "HERALD_KEY": test.keys.sender, "HERALD_PROJECT": "demo",
                ])
            #expect(sender.status != 0 && sender.lines.joined().contains("reading the status"), "\(sender.lines)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func pruningEndsWhatIsInQuarantineForLong() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let run = Self.command(process, test)
            test.simulator.rules.set(
                Rule(.reject(status: 400, reason: "BadDeviceToken")), for: Self.device(3))
            let api = APIClient(baseURL: process.baseURL, key: test.keys.admin)
            let token = try await api.register(deviceToken: Self.device(3))
            _ = try await api.register(deviceToken: Self.device(4))
            let refused = try await run(["send", "--token", token, "--title", "Hi", "--wait"])
            #expect(refused.status != 0, "\(refused.lines)")
            let why = try await run(["why", "--token", token])
            #expect(why.lines.first?.contains("BadDeviceToken") == true, "\(why.lines)")

            let prune = ["registration", "prune", "--quarantined", "--older-than"]
            #expect(try await run(prune + ["90d"]).lines == ["0 registrations ended."])
            #expect(try await run(prune + ["0s", "--dry-run"]).lines == ["1 registrations would end."])
            #expect(try await run(prune + ["0s"]).lines == ["1 registrations ended."])
            #expect(try await run(prune + ["0s"]).lines == ["0 registrations ended."])
            let usage = try await run(["registration", "prune", "--older-than", "90d"])
            #expect(usage.status == 64, "\(usage.lines)")
            let ended = try await run(["send", "--token", token, "--title", "Hi"])
            #expect(ended.status != 0 && ended.lines.joined().contains("REGISTRATION_ENDED"), "\(ended.lines)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }
}
