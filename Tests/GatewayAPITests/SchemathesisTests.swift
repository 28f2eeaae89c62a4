import Foundation
import HTTPTypes
import PushModel
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// The foreign program.
private enum Schemathesis {
    static let program = ProcessInfo.processInfo.environment["HERALD_SCHEMATHESIS"] ?? ""
    /// Requests for each operation and kind.
    static let examples = ProcessInfo.processInfo.environment["HERALD_SCHEMATHESIS_EXAMPLES"] ?? "15"
}

/// `/openapi.json` held against a running gateway by schemathesis: requests made from the document, valid ones and
/// spoilt ones, and each answer looked up in it.
@Suite(
    .serialized, .enabled(if: !Schemathesis.program.isEmpty, "needs HERALD_SCHEMATHESIS"), .timeLimit(.minutes(10)),
    .heavy)
struct SchemathesisTests {
    /// What the program is told, beside its command line. Captures are now and then those of something that exists.
    private func configuration(_ gateway: TestGateway) async throws -> String {
        let (id, token) = try await gateway.register()
        let key = try #require(gateway.keys[.admin]).text
        _ = try await gateway.request(
            .post, "/v1/projects/demo/registrations/\(token)/topicSubscriptions/news:subscribe")
        let message = try await gateway.send(#""topic":"news""#).split(separator: "/").last ?? ""
        return """
            seed = 1
            workers = 1
            [headers]
            Authorization = "Bearer \(key)"
            [dictionaries]
            projects = { values = ["demo", "123456789012"] }
            registrations = { values = ["\(id)", "\(token)"] }
            tokens = { values = ["\(token)"] }
            messages = { values = ["\(message)"] }
            topics = { values = ["news", "weather"] }
            apps = { values = ["com.example.app"] }
            [parameters]
            "path.project" = { dictionary = "projects", probability = 0.95 }
            "path.registration" = { dictionary = "registrations", probability = 0.7 }
            "path.message" = { dictionary = "messages", probability = 0.7 }
            "path.app" = { dictionary = "apps", probability = 0.7 }
            "path.topic" = { dictionary = "topics", probability = 0.7 }
            "body.message.token" = { dictionary = "tokens", probability = 0.7 }
            """
    }

    @Test func noAnswerIsAServerErrorOrUndocumented() async throws {
        let gateway = try await TestGateway()
        let file = gateway.directory.file("schemathesis.toml")
        try Data(try await configuration(gateway).utf8).write(to: URL(filePath: file))
        let listener = ListenerConfiguration(host: "127.0.0.1", port: 0, tls: nil, bodyLimits: BodyLimits())
        let run = try await RunningServer.run(gateway.services, listener: listener) { server in
            try await ChildProcess.run(
                "/usr/bin/env",
                [
                    // It leaves a cache where it runs.
                    "-C", gateway.directory.path, Schemathesis.program, "--config-file", file, "run",
                    "http://127.0.0.1:\(server.port)/openapi.json", "--phases",
                    "examples,coverage,fuzzing", "--checks",
                    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                    "--max-examples", Schemathesis.examples, "--continue-on-failure",
                ])
        }
        #expect(run.status == 0, "\(run.lines.suffix(120).joined(separator: "\n"))")
        // Every operation was tried, but for that of the document itself.
        let count = Route.all.count - 1
        for line in ["Selected: \(count)/\(count)", "Tested: \(count)"] {
            #expect(
                run.lines.contains { $0.contains(line) }, "\(run.lines.suffix(25).joined(separator: "\n"))")
        }
    }
}
