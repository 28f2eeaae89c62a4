import Foundation
import TestSupport
import Testing

/// The doors of `herald serve` as a process: connections, certificate, the listener for operations.
@Suite(.timeLimit(.minutes(5)))
struct ListenerProcessTests {
    private func curl(_ arguments: String...) async throws -> String {
        try await ChildProcess.run("/usr/bin/env", ["curl", "-s", "-m", "120"] + arguments, keepsErrors: false)
            .lines.joined(separator: "\n")
    }

    /// Processor time that a process has used, in clock ticks (fields 14 and 15 of `/proc/<pid>/stat`).
    private func ticks(_ process: GatewayProcess) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process.id)/stat", encoding: .utf8)
        let fields = text.split(separator: " ").compactMap { Int($0) }
        // The name in brackets and the state are no numbers.
        return fields[11] + fields[12]
    }

    /// The attack: 300 connections that say nothing, on a gateway that may have 256 descriptors.
    @Test func silentConnectionsLeaveHealthAnsweringAndTheProcessorIdle() async throws {
        let fixture = try ServeFixture()
        let process = try await GatewayProcess.serving(
            config: fixture.file, prefix: ["/bin/bash", "-c", "ulimit -n 256; exec \"$0\" \"$@\""])
        let port = try #require(process.baseURL.split(separator: ":").last)
        #expect(await process.line(containing: "limits.connections: with 256 descriptors") != nil)
        let client = try ChildProcess(
            "/bin/bash",
            ["-c", "for n in $(seq 300); do exec {fd}<>/dev/tcp/127.0.0.1/\(port); done; echo open; sleep 600"])
        #expect(await client.output.first(containing: "open") != nil)
        #expect(await process.line(containing: "connections are turned away") != nil)
        for _ in 0..<5 { #expect(try await curl("\(process.baseURL)/healthz") == #"{"status":"ok"}"#) }
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/fd").count
        #expect(descriptors < 256)
        let metrics = try await curl("\(process.baseURL)/metrics")
        #expect(metrics.contains(#"herald_http_connection_limit{listener="api"} 160"#), "\(metrics)")
        #expect(metrics.contains(#"herald_http_connections_refused_total{listener="api",reason="idle"}"#))
        // Processor time is used or not while time passes: a loop that spins over its sockets would use most of it.
        let (before, start) = (try ticks(process), ContinuousClock.now)
        try await Task.sleep(for: .seconds(3))
        let used = Double(try ticks(process) - before) / 100
        #expect(used < 0.25 * ((ContinuousClock.now - start) / .seconds(1)), "\(used) s of processor time")
        client.signal(SIGKILL)
        _ = await client.status()
        #expect(await process.end(with: SIGTERM) == 0)
    }

    @Test func hangupTakesANewCertificate() async throws {
        let directory = try TestDirectory()
        let files = try await ListenerWatchTests.makeCertificate(in: directory)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o644)], ofItemAtPath: files.key)
        let fixture = try ServeFixture(
            edits: [("  port: 0", "  port: 0\n  certificate: \(files.certificate)\n  key: \(files.key)")])
        let process = try await GatewayProcess.serving(config: fixture.file)
        #expect(await process.line(containing: "listen.key: \(files.key) can be read by every user") != nil)
        let old = try String(contentsOfFile: files.certificate, encoding: .utf8)
        let oldFile = directory.file("old.crt")
        try old.write(toFile: oldFile, atomically: true, encoding: .utf8)
        #expect(try await curl("--cacert", oldFile, "\(process.baseURL)/healthz") == #"{"status":"ok"}"#)
        let metrics = try await curl("--cacert", oldFile, "\(process.baseURL)/metrics")
        #expect(metrics.contains("herald_listener_certificate_expiry_timestamp_seconds 1"), "\(metrics)")
        #expect(metrics.contains(#"herald_build_info{version=""#))
        _ = try await ListenerWatchTests.makeCertificate(in: directory)
        process.signal(SIGHUP)
        #expect(await process.line(containing: "certificate and key were read again") != nil)
        #expect(try await curl("--cacert", oldFile, "\(process.baseURL)/healthz") == "")
        #expect(try await curl("--cacert", files.certificate, "\(process.baseURL)/healthz") == #"{"status":"ok"}"#)
        #expect(await process.end(with: SIGTERM) == 0)
    }

    @Test func commandsTrustTheAuthorityTheyAreToldAndAStopWaitsForNoSilentConnection() async throws {
        let directory = try TestDirectory()
        let files = try await ListenerWatchTests.makeCertificate(in: directory)
        let fixture = try ServeFixture(
            edits: [("  port: 0", "  port: 0\n  certificate: \(files.certificate)\n  key: \(files.key)")])
        let process = try await GatewayProcess.serving(config: fixture.file)
        let status = ["status", "--gateway", process.baseURL, "--project", "demo", "--key", "hk_no_key"]
        let distrusted = try await GatewayProcess.run(status)
        #expect(distrusted.status == 69)
        #expect(
            distrusted.lines == [
                "herald: can't reach \(process.baseURL): its certificate is not signed by an authority that is trusted; "
                    + "name the file of your authority (--ca, HERALD_CA)"
            ])
        for trusted in [
            try await GatewayProcess.run(status + ["--ca", files.certificate]),
            try await GatewayProcess.run(status, environment: ["HERALD_CA": files.certificate]),
        ] {
            #expect(trusted.lines.first?.contains("the gateway answered 401") == true, "\(trusted.lines)")
        }
        let wrong = try await GatewayProcess.run(status + ["--ca", fixture.file])
        #expect(wrong.lines.first?.contains("\(fixture.file): no PEM certificates") == true, "\(wrong.lines)")

        let port = try #require(process.baseURL.split(separator: ":").last)
        let silent = try ChildProcess(
            "/bin/bash", ["-c", "exec 9<>/dev/tcp/127.0.0.1/\(port); echo open; cat <&9"])
        #expect(await silent.output.first(containing: "open") != nil)
        let start = ContinuousClock.now
        #expect(await process.end(with: SIGTERM) == 0)
        // Far below the limit of the shutdown (20 s), for a machine that is busy.
        #expect(start.duration(to: .now) < .seconds(12))
        _ = await silent.status()
    }

    @Test func operationsHaveAListenerOfTheirOwn() async throws {
        let fixture = try ServeFixture(edits: [("log:", "operations:\n  port: 0\nlog:")])
        let process = try await GatewayProcess.serving(config: fixture.file)
        let line = try #require(await process.line(containing: "listening for operations"))
        let port = try #require(line.firstMatch(of: /port=(\d+)/)?.1)
        let operations = "http://127.0.0.1:\(port)"
        #expect(try await curl("\(process.baseURL)/readyz") == #"{"status":"ready"}"#)
        #expect(try await curl("\(process.baseURL)/metrics").contains("UNKNOWN_PATH"))
        #expect(try await curl("\(operations)/readyz").contains(#""upstreams":[{"name":"127.0.0.1:1 TEAM123456"#))
        #expect(try await curl("\(operations)/metrics").contains("herald_build_info"))
        #expect(try await curl("\(operations)/healthz") == #"{"status":"ok"}"#)
        #expect(await process.end(with: SIGTERM) == 0)
    }

    @Test func aBusyPortForOperationsNamesItsSetting() async throws {
        let first = try ServeFixture()
        let running = try await GatewayProcess.serving(config: first.file)
        let port = try #require(running.baseURL.split(separator: ":").last)
        let second = try ServeFixture(edits: [("log:", "operations:\n  port: \(port)\nlog:")])
        let result = try await GatewayProcess.run(["serve", "--config", second.file])
        #expect(result.status == 69)
        #expect(
            result.lines.contains(
                "herald: \(second.file):7: operations.port: 127.0.0.1:\(port) is in use; stop the program that listens "
                    + "there or take another port"), "\(result.lines)")
        #expect(await running.end(with: SIGTERM) == 0)
    }

    @Test func theVersionIsPrinted() async throws {
        let result = try await GatewayProcess.run(["--version"])
        #expect(result.status == 0)
        #expect(result.lines.first?.wholeMatch(of: /herald \d+\.\d+\.\d+/) != nil, "\(result.lines)")
    }
}
