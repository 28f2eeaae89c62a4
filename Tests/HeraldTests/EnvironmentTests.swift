import Foundation
import Logging
import Simulators
import TestSupport
import Testing

/// The whole gateway between two simulators, one for each environment.
@Suite(.timeLimit(.minutes(5)))
struct EnvironmentTests {
    private static let badDeviceToken = Rule(.reject(status: 400, reason: "BadDeviceToken"))

    @Test func tokensOfTheOtherEnvironmentAreFoundAndBadOnesQuarantined() async throws {
        try await withBothEnvironments { test, sandbox in
            let (mine, theirs, bad) = ("aa01".deviceToken, "aa02".deviceToken, "aa03".deviceToken)
            test.simulator.rules.setDefault(Self.badDeviceToken)
            test.simulator.rules.set(Rule(.accept), for: mine)
            sandbox.rules.setDefault(Self.badDeviceToken)
            sandbox.rules.set(Rule(.accept), for: theirs)
            let process = try await test.start()
            let admin = APIClient(baseURL: process.baseURL, key: test.keys.admin)
            var tokens: [String: String] = [:]
            for device in [mine, theirs, bad] {
                let token = try await admin.register(deviceToken: device)
                tokens[device] = token
                _ = try await admin.post(
                    "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":["\#(token)"]}"#)
            }

            let first = try await broadcast(process, test.keys)
            #expect(first["accepted"] == 2 && first["rejected"] == 1)
            #expect(test.simulator.recording.pushes.map(\.deviceToken).sorted() == [mine, theirs, bad])
            #expect(sandbox.recording.pushes.map(\.deviceToken).sorted() == [theirs, bad])
            let ids = { (pushes: [RecordedPush]) in
                Set(pushes.filter { $0.deviceToken == theirs }.compactMap { $0.headers["apns-id"] })
            }
            #expect(ids(test.simulator.recording.pushes) == ids(sandbox.recording.pushes))
            #expect(try await shown(tokens[theirs], "apnsEnvironment", admin) == "SANDBOX")
            #expect(try await shown(tokens[bad], "state", admin) == "QUARANTINED")

            // Each goes where it belongs now, and the bad one nowhere.
            test.simulator.recording.clear()
            sandbox.recording.clear()
            let second = try await broadcast(process, test.keys)
            #expect(second["recipients"] == 2 && second["accepted"] == 2)
            #expect(test.simulator.recording.pushes.map(\.deviceToken) == [mine])
            #expect(sandbox.recording.pushes.map(\.deviceToken) == [theirs])

            // It was a mix-up: the operator lifts the quarantine.
            test.simulator.rules.clear()
            let lifted = try await GatewayProcess.run([
                "quarantine", "lift", "--app", "com.example.app", "--since", "2026-01-01T00:00:00Z", "--gateway",
                process.baseURL, "--key", test.keys.admin, "--project", "demo",
            ])
            #expect(lifted.status == 0)
            #expect(lifted.lines.contains("1 registrations are out of quarantine."))
            let third = try await broadcast(process, test.keys)
            #expect(third["accepted"] == 3)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// Sends to the topic and waits for the end; the report's figures.
    private func broadcast(_ process: GatewayProcess, _ keys: GatewayUnderTest.Keys) async throws -> [String: Int] {
        let client = APIClient(baseURL: process.baseURL, key: keys.sender)
        let sent = try await client.post(
            "/v1/projects/demo/messages:send", #"{"message":{"topic":"news","notification":{"title":"Hi"}}}"#)
        let name = try #require(try sent.json["name"] as? String, "\(sent.text)")
        return try WholeGatewayTests.ledger(try await WholeGatewayTests.completeReport(name, process, keys))
    }

    private func shown(_ token: String?, _ field: String, _ client: APIClient) async throws -> String? {
        let answer = try await client.get("/v1/projects/demo/registrations/\(try #require(token))")
        return try answer.json[field] as? String
    }

    /// Runs `body` with a second simulator as the sandbox.
    private func withBothEnvironments(_ body: (GatewayUnderTest, SimulatedAPNS) async throws -> Void) async throws {
        try await GatewayUnderTest.with { test in
            let identity = try SimulatorIdentity(
                directory: test.directory.file("apns"), topics: ["com.example.app"])
            var configuration = SimulatedAPNS.Configuration(
                identity: identity, wallTimeMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) })
            configuration.port = 0
            let (ports, announcePort) = AsyncStream.makeStream(of: Int.self)
            let sandbox = SimulatedAPNS(
                configuration, logger: Logger(label: "sandbox") { _ in SwiftLogNoOpLogHandler() }
            ) { port, _ in announcePort.yield(port) }
            let serving = Task {
                do {
                    try await sandbox.run()
                } catch is CancellationError {
                    // The test is over.
                }
            }
            defer { serving.cancel() }
            let port = try #require(await ports.first { _ in true })
            try addSandbox(port: port, to: test.directory.file("projects/demo.yaml"))
            try await body(test, sandbox)
            serving.cancel()
            try await serving.value
        }
    }

    /// Names the second endpoint beside the first.
    private func addSandbox(port: Int, to file: String) throws {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard let range = line.range(of: "endpoint: ") else { return String(line) }
            let production = line[range.upperBound...]
            return line[..<range.upperBound] + "{production: \"\(production)\", sandbox: \"127.0.0.1:\(port)\"}"
        }
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
    }
}
