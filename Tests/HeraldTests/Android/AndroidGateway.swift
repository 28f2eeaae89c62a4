import Foundation
import Logging
import ServiceLifecycle
import Simulators
import TestSupport
import Testing

@testable import herald

/// A simulated Google in this process, beside the simulated APNs, and a gateway whose project has an app of each platform.
struct AndroidGateway {
    static let app = "com.example.android"

    let test: GatewayUnderTest
    let google: SimulatedGoogle
    let process: GatewayProcess

    /// Starts all three, runs `body`, and stops them.
    static func with(
        settings: String = "", relays: Bool = false,
        google change: (inout SimulatedGoogle.Configuration) -> Void = { _ in },
        _ body: (AndroidGateway) async throws -> Void
    ) async throws {
        try await GatewayUnderTest.with(settings: settings) { test in
            try await run(in: test, relays: relays, google: change, body)
        }
    }

    /// Starts Google and the gateway of a test that has the rest, runs `body`, and stops both.
    ///
    /// - Parameter settings: further lines of the app's `fcm` block; given the port of Google.
    static func run(
        in test: GatewayUnderTest, relays: Bool = false, settings: (Int) throws -> [String] = { _ in [] },
        google change: (inout SimulatedGoogle.Configuration) -> Void = { _ in },
        _ body: (AndroidGateway) async throws -> Void
    ) async throws {
        var configuration = SimulatedGoogle.Configuration(
            identity: try GoogleIdentity(directory: test.directory.file("google")),
            wallTimeMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) })
        configuration.port = 0
        change(&configuration)
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "google") { _ in SwiftLogNoOpLogHandler() }
        let google = SimulatedGoogle(configuration, logger: logger) { port, _ in announce.yield(port) }
        let group = ServiceGroup(services: [google], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
            try addApp(
                to: test.directory.file("projects/demo.yaml"), account: configuration.identity.accountFile,
                endpoint: "127.0.0.1:\(port)", trust: configuration.identity.caFile, relays: relays,
                settings: try settings(port))
            let process = try await test.start()
            try await body(AndroidGateway(test: test, google: google, process: process))
            // One that a test has killed is gone already.
            await process.end(with: SIGTERM)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Adds the Android app to a project file.
    static func addApp(
        to file: String, account: String, endpoint: String, trust: String, relays: Bool = false,
        settings: [String] = []
    ) throws {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let block = """
              - id: \(app)
                platform: android
                fcm:
                  serviceAccount: \(account)
                  endpoint: \(endpoint)
                  trust: \(trust)
                  unknownTokens: \(relays ? "relay" : "reject")
            \(settings.map { "      \($0)\n" }.joined())registrations:
            """
        try text.replacing("registrations:", with: block).write(toFile: file, atomically: true, encoding: .utf8)
    }

    var sender: APIClient { APIClient(baseURL: process.baseURL, key: test.keys.sender) }
    var admin: APIClient { APIClient(baseURL: process.baseURL, key: test.keys.admin) }

    /// Registers a device by the token that Firebase's SDK gave it, and gives what senders address.
    func register(_ token: String) async throws -> String {
        let answer = try await admin.post(
            "/v1/projects/demo/registrations",
            #"{"android":{"fcm_token":"\#(token)","package_name":"\#(Self.app)","app_version":"1.0"}}"#)
        guard let token = try answer.json["token"] as? String else { throw ChildProcessError(answer.text) }
        return token
    }

    /// Puts registrations into the topic `weather`.
    func subscribe(_ tokens: [String]) async throws {
        for start in stride(from: 0, to: tokens.count, by: 1000) {
            let part = tokens[start..<min(start + 1000, tokens.count)]
            let list = part.map { "\"\($0)\"" }.joined(separator: ",")
            let answer = try await admin.post(
                "/iid/v1:batchAdd", #"{"to":"/topics/weather","registration_tokens":[\#(list)]}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    /// Sends to one registration; the message's name.
    func send(to token: String, _ more: String = #""notification":{"title":"Hi"}"#) async throws -> String {
        let answer = try await sender.post(
            "/v1/projects/demo/messages:send", #"{"message":{"token":"\#(token)",\#(more)}}"#)
        guard let name = try answer.json["name"] as? String else { throw ChildProcessError(answer.text) }
        return name
    }

    func report(_ message: String) async throws -> [String: Any] {
        try await WholeGatewayTests.completeReport(message, process, test.keys)
    }

    func deliveries(_ message: String) async throws -> [[String: Any]] {
        let listed = try await sender.get("/v1/\(message)/deliveries?pageSize=1000").json
        return try #require(listed["deliveries"] as? [[String: Any]])
    }
}
