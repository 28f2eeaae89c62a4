import Foundation
import TestSupport
import Testing

/// A started `herald dev`, with what its block says.
struct Demo {
    let process: ChildProcess
    let baseURL: String
    let adminKey: String
    /// The keys in the lines to paste, in their order.
    let keys: [String]
    /// The lines for Python.
    let python: String
    /// The address of the control endpoint of the simulated push service.
    let pushControlURL: String
    /// The link that signs in to the console.
    let signInLink: String

    init(state: String) async throws {
        process = try ChildProcess(
            try GatewayProcess.executable(),
            ["dev", "--port", "0", "--apns-port", "0", "--google-port", "0", "--push-port", "0", "--state", state],
            environment: GatewayProcess.environment(with: [:]))
        guard await process.output.first(containing: "Press Ctrl-C to stop") != nil else {
            throw ChildProcessError("ended with \(await process.status()): \(process.output.lines)")
        }
        let text = process.output.lines.joined(separator: "\n")
        baseURL = try #require(text.firstMatch(of: /Herald listens on (http:\/\/127\.0\.0\.1:\d+);/)).output.1
            .description
        adminKey = try #require(text.firstMatch(of: /Admin key: (hk_\S+)/)).output.1.description
        python = try #require(text.firstMatch(of: /(?s)\nimport firebase_admin\n.*?\n\n/)).output.description
        keys = text.matches(of: /Bearer (hk_[A-Za-z0-9_-]+)/).map(\.output.1.description)
        signInLink = try #require(text.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+\/console\/link\/\S+/)).output
            .description
        pushControlURL = try #require(text.firstMatch(of: /(http:\/\/127\.0\.0\.1:\d+)\/subscriptions/)).output.1
            .description
    }

    /// Stops it as Ctrl-C does; its exit status.
    func end() async -> Int32 {
        process.signal(SIGINT)
        return await process.status()
    }
}
