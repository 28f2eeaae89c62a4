import Foundation
import Simulators
import Testing

/// The whole gateway with an app that has a certificate, over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct CertificateGatewayTests {
    @Test func broadcastGoesOutOverTheCertificateAndARenewedOneIsTakenOver() async throws {
        try await GatewayUnderTest.with(usesCertificate: true) { test in
            try GatewayUnderTest.certificate(of: test.identity, seconds: 10 * 86_400, in: test.directory)
            let process = try await test.start()
            let warning = try #require(await process.line(containing: "the app's certificate ends soon"))
            #expect(warning.contains("app=com.example.app") && warning.contains("demo.yaml:7"))
            let soon = try await Self.expiry(process, test)
            // A certificate's times are rounded to seconds.
            #expect((9...10.5).contains((soon - Date().timeIntervalSince1970) / 86_400))

            _ = try await WholeGatewayTests.registerDevices(50, process, test.keys)
            let first = try await WholeGatewayTests.broadcast(process, test.keys)
            let report = try await WholeGatewayTests.completeReport(first, process, test.keys)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 50)
            let credential = try await Self.credential(process, test)
            #expect(
                credential["kind"] as? String == "CERTIFICATE" && credential["name"] as? String == "com.example.app")
            #expect(credential["fileTime"] != nil && credential["validUntil"] != nil)
            #expect(credential["lastUsed"] != nil && credential["lastError"] == nil)
            let connections = test.simulator.statistics.connections

            try GatewayUnderTest.certificate(of: test.identity, seconds: 300 * 86_400, in: test.directory)
            process.signal(SIGHUP)
            _ = try #require(await process.line(containing: "project files read again"))
            #expect(try await Self.expiry(process, test) - soon > 280 * 86_400)
            let second = try await WholeGatewayTests.broadcast(process, test.keys)
            _ = try await WholeGatewayTests.completeReport(second, process, test.keys)
            #expect(test.simulator.statistics.connections > connections)
            #expect(test.simulator.recording.pushes.allSatisfy { $0.status == 200 })
            #expect(test.simulator.recording.pushes.count == 100)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func anExpiredCertificateIsReportedAndTheGatewayRuns() async throws {
        try await GatewayUnderTest.with(usesCertificate: true) { test in
            try GatewayUnderTest.certificate(of: test.identity, seconds: -3600, in: test.directory)
            let process = try await test.start()
            let line = try #require(await process.line(containing: "the app's certificate has ended"))
            #expect(line.lowercased().contains("error"))
            _ = try await APIClient(baseURL: process.baseURL, key: test.keys.client)
                .register(deviceToken: String(repeating: "0a", count: 32))
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// The only credential of the status.
    private static func credential(_ process: GatewayProcess, _ test: GatewayUnderTest) async throws -> [String: Any] {
        let status = try await APIClient(baseURL: process.baseURL, key: test.keys.admin)
            .get("/v1/projects/demo/status").json
        let credentials = try #require(status["credentials"] as? [[String: Any]])
        #expect(credentials.count == 1)
        return try #require(credentials.first)
    }

    /// The metric, in seconds since 1970.
    private static func expiry(_ process: GatewayProcess, _ test: GatewayUnderTest) async throws -> Double {
        let text = try await APIClient(baseURL: process.baseURL, key: test.keys.admin).get("/metrics").text
        let prefix = #"herald_certificate_expiry_timestamp_seconds{app="com.example.app",project="demo"} "#
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(prefix) })
        return try #require(Double(line.dropFirst(prefix.count)))
    }
}
