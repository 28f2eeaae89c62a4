import Foundation
import TestSupport
import Testing

/// Signing in to the console by a provider of OpenID Connect that is not ours.
@Suite(.heavy, .timeLimit(.minutes(5)), .enabled(Python.oidc.expectation, { try await Python.oidc.isFound() }))
struct OIDCJudgeTests {
    @Test func authlibSignsAnOperatorIn() async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/oidc.py").path()
        let provider = try Python.oidc.start([script, "serve"])
        let line = try #require(await provider.output.first(containing: "listening "))
        let port = try #require(line.split(separator: " ").last)
        let publicURL = "http://push.example.com"
        let settings = """
            publicURL: \(publicURL)
            console:
              oidc: {issuer: "http://localhost:\(port)", clientID: herald, clientSecret: s3cret}
            """
        try await GatewayUnderTest.with(settings: settings) { test in
            let made = try await GatewayProcess.run([
                "operator", "create", "ada@example.com", "--config", test.configuration, "--project", "demo", "--role",
                "admin",
            ])
            try #require(made.status == 0)
            let process = try await test.start()
            let ended = try await Python.oidc.run([script, "sign-in", process.baseURL, publicURL])
            #expect(ended.status == 0 && ended.lines.last == "signed in", "\(ended.lines.joined(separator: "\n"))")
            #expect(await process.end(with: SIGTERM) == 0)
        }
        provider.signal(SIGKILL)
        _ = await provider.status()
    }
}
