import Foundation
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
///
/// The gateway is a process of its own: the program waits 10 s for an answer, which a gateway in this process would owe it
/// while other tests have the threads.
@Suite(
    .serialized, .enabled(if: !Schemathesis.program.isEmpty, "needs HERALD_SCHEMATHESIS"), .timeLimit(.minutes(10)),
    .heavy)
struct SchemathesisTests {
    /// What the program is told, beside its command line. Captures are now and then those of something that exists.
    private func configuration(_ process: GatewayProcess, _ keys: GatewayUnderTest.Keys) async throws -> String {
        let api = APIClient(baseURL: process.baseURL, key: keys.admin)
        let registered = try await api.post(
            "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#("00aa11".deviceToken)","bundle_id":"com.example.app"}}"#)
        let token = try #require(registered.json["token"] as? String, "\(registered.text)")
        let id = try #require((registered.json["name"] as? String)?.split(separator: "/").last)
        let subscribed = try await api.post(
            "/v1/projects/demo/registrations/\(token)/topicSubscriptions/news:subscribe", "")
        #expect(subscribed.status == 200, "\(subscribed.text)")
        let sent = try await api.post("/v1/projects/demo/messages:send", #"{"message":{"topic":"news"}}"#)
        let message = try #require((sent.json["name"] as? String)?.split(separator: "/").last, "\(sent.text)")
        return """
            seed = 1
            workers = 1
            [headers]
            Authorization = "Bearer \(keys.admin)"
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
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let file = test.directory.file("schemathesis.toml")
            try Data(try await configuration(process, test.keys).utf8).write(to: URL(filePath: file))
            let run = try await ChildProcess.run(
                "/usr/bin/env",
                [
                    // It leaves a cache where it runs.
                    "-C", test.directory.path, Schemathesis.program, "--config-file", file, "run",
                    "\(process.baseURL)/openapi.json", "--phases",
                    "examples,coverage,fuzzing", "--checks",
                    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                    "--max-examples", Schemathesis.examples, "--continue-on-failure",
                ])
            #expect(await process.end(with: SIGTERM) == 0)
            check(run)
        }
    }

    private func check(_ run: (status: Int32, lines: [String])) {
        #expect(run.status == 0, "\(run.lines.suffix(120).joined(separator: "\n"))")
        // Every operation was tried, but for that of the document itself.
        let count = RouteTable.described.count - 1
        for line in ["Selected: \(count)/\(count)", "Tested: \(count)"] {
            #expect(
                run.lines.contains { $0.contains(line) }, "\(run.lines.suffix(25).joined(separator: "\n"))")
        }
    }
}
