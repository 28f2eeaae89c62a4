import Foundation
import TestSupport
import Testing

/// Two gateways on one data directory: the second ends at once and names the first.
@Suite(.timeLimit(.minutes(5)))
struct TwoGatewaysTests {
    private static func expectNamed(
        _ line: String?, command: String, _ address: String, process: Int32
    ) throws {
        let line = try #require(line)
        #expect(line.contains("Another gateway (\(command), process \(process), on \(address), since 20"), "\(line)")
    }

    @Test func aSecondServeIsRefusedWithTheFirstsProcess() async throws {
        let fixture = try ServeFixture()
        let first = try await GatewayProcess.serving(config: fixture.file)
        let second = try await GatewayProcess.run(["serve", "--config", fixture.file])
        #expect(second.status == 69)
        #expect(second.lines.count == 1)
        try Self.expectNamed(second.lines.first, command: "herald serve", first.baseURL, process: first.id)

        // The first still serves, and what it wrote does not outlive it.
        #expect(try await APIClient(baseURL: first.baseURL, key: "").get("/healthz").status == 200)
        await first.end(with: SIGKILL)
        let third = try await GatewayProcess.serving(config: fixture.file)
        let fourth = try await GatewayProcess.run(["serve", "--config", fixture.file])
        #expect(fourth.status == 69)
        try Self.expectNamed(fourth.lines.first, command: "herald serve", third.baseURL, process: third.id)
        #expect(await third.end(with: SIGTERM) == 0)
    }

    @Test func aDemoAndAServeNameEachOther() async throws {
        let fixture = try ServeFixture()
        let state = fixture.directory.file("state")
        let demo = try ChildProcess(
            try GatewayProcess.executable(),
            ["dev", "--port", "0", "--apns-port", "0", "--google-port", "0", "--push-port", "0", "--state", state],
            environment: GatewayProcess.environment(with: [:]))
        let line = await demo.output.first(containing: "Herald listens on ")
        let address = try #require(line?.firstMatch(of: /Herald listens on (http:\/\/127\.0\.0\.1:\d+);/)).output.1
        let data = ["HERALD_DATA": state + "/data"]
        let serve = try await GatewayProcess.run(["serve", "--config", fixture.file], environment: data)
        #expect(serve.status == 69)
        try Self.expectNamed(serve.lines.first, command: "herald dev", String(address), process: demo.id)
        demo.signal(SIGTERM)
        #expect(await demo.status() == 0)

        let first = try await GatewayProcess.serving(config: fixture.file, environment: data)
        let second = try await GatewayProcess.run([
            "dev", "--port", "0", "--apns-port", "0", "--google-port", "0", "--push-port", "0", "--state", state,
        ])
        #expect(second.status == 69)
        try Self.expectNamed(second.lines.last, command: "herald serve", first.baseURL, process: first.id)
        #expect(await first.end(with: SIGTERM) == 0)
    }
}
