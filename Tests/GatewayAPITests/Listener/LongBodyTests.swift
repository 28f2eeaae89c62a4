import Foundation
import JSON
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// Bodies of many frames, on the wire.
@Suite(.enabled(if: Tool.areFound), .timeLimit(.minutes(5)))
struct LongBodyTests {
    private static let tokens = 10_000

    /// Asks for the states of 10,000 tokens, a body and an answer of hundreds of kilobytes.
    private func check(_ options: [String]) async throws -> (answer: JSONValue, status: String) {
        let gateway = try await TestGateway()
        let key = try #require(gateway.keys[.sender]).text
        let files = try await TestCertificate(in: gateway.directory).files
        let tokens = (0..<Self.tokens).map { #""an-unknown-token-\#($0)""# }.joined(separator: ",")
        let file = gateway.directory.file("tokens.json")
        try Data(#"{"tokens":[\#(tokens)]}"#.utf8).write(to: URL(fileURLWithPath: file))
        let listener = GatewayListener.loopback(tls: files)
        let output = try await RunningServer.run(gateway.services, listener: listener) { server in
            try await run(
                "curl",
                options + [
                    "-s", "-m", "60", "--cacert", files.certificateFile, "-w", "\n%{http_code}", "-H",
                    "Authorization: Bearer \(key)", "-H", "Content-Type: application/json", "--data-binary",
                    "@\(file)", "https://127.0.0.1:\(server.port)/v1/projects/demo/registrations:check",
                ]
            ).output
        }
        let lines = output.split(separator: "\n")
        let body = try JSONValue(parsing: lines.dropLast().joined(separator: "\n").utf8)
        return (body, String(try #require(lines.last)))
    }

    @Test(arguments: [
        ["--http2"], ["--http1.1"],
        // Without a length the body begins as a short one does.
        ["--http2", "-H", "Transfer-Encoding: chunked"], ["--http1.1", "-H", "Transfer-Encoding: chunked"],
        // Neither side takes it at once.
        ["--http2", "--limit-rate", "400k"],
    ])
    func areTakenAndAnsweredWhole(options: [String]) async throws {
        let (answer, status) = try await check(options)
        #expect(status == "200")
        guard case .array(let states)? = answer["results"] else {
            Issue.record("no results")
            return
        }
        #expect(states.count == Self.tokens)
    }

    /// Its rows are formatted beside the connection's event loop.
    @Test(arguments: ["--http2", "--http1.1"])
    func anExportIsStreamed(option: String) async throws {
        let gateway = try await TestGateway()
        let key = try #require(gateway.keys[.admin]).text
        let files = try await TestCertificate(in: gateway.directory).files
        let listener = GatewayListener.loopback(tls: files)
        let output = try await RunningServer.run(gateway.services, listener: listener) { server in
            try await run(
                "curl",
                [
                    option, "-s", "-m", "60", "--cacert", files.certificateFile, "-w", "%{http_code}", "-H",
                    "Authorization: Bearer \(key)",
                    "https://127.0.0.1:\(server.port)/v1/projects/demo/export?format=csv",
                ]
            ).output
        }
        let lines = output.split(whereSeparator: \.isNewline)
        #expect(lines.count == 2 && lines.first?.contains("message") == true && lines.last == "200", "\(output)")
    }

    /// The refusal is there before the body is.
    @Test func oneThatIsTooLongIsRefusedAndItsConnectionStays() async throws {
        let gateway = try await TestGateway()
        let key = try #require(gateway.keys[.sender]).text
        let files = try await TestCertificate(in: gateway.directory).files
        let file = gateway.directory.file("zeros")
        try Data(count: 12_000_000).write(to: URL(fileURLWithPath: file))
        let listener = GatewayListener.loopback(tls: files)
        let output = try await RunningServer.run(gateway.services, listener: listener) { server in
            let url = "https://127.0.0.1:\(server.port)"
            return try await run(
                "curl",
                [
                    "--http2", "-s", "-m", "60", "--cacert", files.certificateFile, "-o", "/dev/null", "-w",
                    "%{http_code} %{num_connects}\n", "-H", "Authorization: Bearer \(key)", "--data-binary",
                    "@\(file)", "\(url)/v1/projects/demo/messages:send", "--next", "-s", "--cacert",
                    files.certificateFile, "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", "\(url)/healthz",
                ]
            ).output
        }
        // The second request went over the same connection.
        #expect(output.split(separator: "\n") == ["413 1", "200 0"], "\(output)")
    }
}
