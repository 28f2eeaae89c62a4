import Foundation
import Simulators
import TestSupport
import Testing

@testable import herald

/// `herald doctor` as a process, against a simulated APNs.
@Suite(.timeLimit(.minutes(2)))
struct DoctorTests {
    private static let unusedToken = String(repeating: "00", count: 32)

    private static func run(_ test: GatewayUnderTest, _ more: [String] = []) async throws -> (
        status: Int32, lines: [String]
    ) {
        let result = try await GatewayProcess.run(["doctor", "--config", test.configuration] + more)
        return (result.status, result.lines)
    }

    @Test func aRecountShowsItsProgress() {
        #expect(LedgerCheck.progressText("3 MiB", nil, seconds: 2) == "checking 3 MiB: 2 s")
        #expect(
            LedgerCheck.progressText("3 MiB", (done: 500, total: 900), seconds: 4)
                == "recounting 3 MiB: 500 of 900 messages, 4 s")
    }

    @Test func everyCheckPassesBesideARunningGateway() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            test.simulator.rules.set(Rule(.reject(status: 400, reason: "BadDeviceToken")), for: Self.unusedToken)
            let (status, lines) = try await Self.run(test)
            #expect(status == 0)
            #expect(lines.allSatisfy { $0.hasPrefix("ok ") || $0.hasPrefix("STATUS ") || $0.isEmpty }, "\(lines)")
            #expect(lines.contains { $0.contains("com.example.app production") && $0.contains("takes pushes") })
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test(arguments: [
        (403, "InvalidProviderToken", "failed", Int32(69)), (400, "TopicDisallowed", "failed", 69),
        (503, "ServiceUnavailable", "warning", 0),
    ])
    func anAnswerThatConcernsAllPushesIsToldWithItsMeaning(
        status: Int, reason: String, grade: String, code: Int32
    ) async throws {
        try await GatewayUnderTest.with { test in
            test.simulator.rules.set(Rule(.reject(status: status, reason: reason)), for: Self.unusedToken)
            let result = try await Self.run(test)
            #expect(result.status == code)
            #expect(
                result.lines.contains { $0.hasPrefix(grade) && $0.contains("answers \(reason): The ") }
                    || result.lines.contains { $0.hasPrefix(grade) && $0.contains("answers \(reason): APNs ") },
                "\(result.lines)")
        }
    }

    @Test func anEndpointWithoutAListenerIsNamedWithTheFailure() async throws {
        try await GatewayUnderTest.with { test in
            let file = test.directory.file("projects/demo.yaml")
            let text = try String(contentsOfFile: file, encoding: .utf8)
                .replacing(#/endpoint: .*/#, with: "endpoint: 127.0.0.1:1")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let result = try await Self.run(test, ["--timeout", "1", "--json"])
            #expect(result.status == 69)
            #expect(result.lines.joined().contains("127.0.0.1:1: Connection refused"), "\(result.lines)")
        }
    }

    @Test func aWrongConfigurationIsReportedAsByServe() async throws {
        try await GatewayUnderTest.with { test in
            let file = test.directory.file("projects/demo.yaml")
            try "project: demo\nnumbr: 12\n".write(toFile: file, atomically: true, encoding: .utf8)
            #expect(try await Self.run(test).status == 78)
        }
    }
}
