import Foundation
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// What the listener lets in, over real sockets.
@Suite(.enabled(if: Tool.areFound), .timeLimit(.minutes(5)))
struct DoorTests {
    private func listener(
        tls: (certificateFile: String, keyFile: String)? = nil, connections: ConnectionLimits = ConnectionLimits(),
        requestLimit: Duration = .seconds(60)
    ) -> ListenerConfiguration {
        var listener = ListenerConfiguration(
            host: "127.0.0.1", port: 0, tls: tls, bodyLimits: BodyLimits(), requestLimit: requestLimit)
        listener.connectionLimits = connections
        return listener
    }

    /// Writes `text` to a port and returns what comes back until the peer closes.
    private func exchange(_ text: String, port: Int) async throws -> String {
        let script = "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '%b' '\(text)' >&3; cat <&3"
        return try await run("bash", ["-c", script]).output
    }

    @Test(arguments: [
        (#"GET /healthz HTTP/1.1\r\n\r\n"#, "400"),
        (#"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"#, "400"),
        (#"GET /healthz HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n"#, "400"),
        (#"GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"#, "400"),
        (#"GET /healthz HTTP/1.0\r\nConnection: close\r\n\r\n"#, "200"),
        (#"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"#, "200"),
    ])
    func aRequestHasOneHost(request: String, status: String) async throws {
        let gateway = try await TestGateway()
        let output = try await RunningServer.run(gateway.services, listener: listener()) { server in
            try await exchange(request, port: server.port)
        }
        #expect(output.hasPrefix("HTTP/1.1 \(status) "), "\(output)")
        #expect(output.contains(#""field":"Host""#) == (status == "400"), "\(output)")
    }

    /// The second request must not be taken for another one, and the first has its answer.
    @Test func aPipelinedRequestWithTwoHostsEndsTheConnection() async throws {
        let gateway = try await TestGateway()
        let request =
            #"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"#
            + #"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"#
        let output = try await RunningServer.run(gateway.services, listener: listener()) { server in
            try await exchange(request, port: server.port)
        }
        #expect(output.matches(of: #/HTTP/1.1 ([0-9]{3}) /#).map { String($0.1) } == ["200", "400"], "\(output)")
    }

    @Test(arguments: [("-tls1_2", true), ("-tls1_3", true), ("-tls1_1", false), ("-tls1", false)])
    func onlyTLS12AndLaterIsSpoken(option: String, isTaken: Bool) async throws {
        let gateway = try await TestGateway()
        let files = try await TestCertificate(in: gateway.directory).files
        let ended = try await RunningServer.run(gateway.services, listener: listener(tls: files)) { server in
            // Security level 0: openssl itself would not offer the old versions.
            let script = """
                echo | timeout 20 openssl s_client -connect 127.0.0.1:\(server.port) \(option) \
                    -cipher 'ALL:@SECLEVEL=0' 2>/dev/null | grep -c 'BEGIN CERTIFICATE'
                """
            return try await run("bash", ["-c", script])
        }
        #expect(ended.output == (isTaken ? "1" : "0"), "\(ended)")
    }

    /// The name of the certificate that a listener shows.
    private func shownName(_ port: Int) async throws -> String {
        let script = """
            echo | timeout 20 openssl s_client -connect 127.0.0.1:\(port) 2>/dev/null | openssl x509 -noout -fingerprint
            """
        return try await run("bash", ["-c", script]).output
    }

    @Test func aNewCertificateIsTakenWithItsKeyOrNotAtAll() async throws {
        let gateway = try await TestGateway()
        let first = try await TestCertificate(in: gateway.directory)
        let second = try await TestCertificate(in: gateway.directory, name: "new")
        @Sendable func put(_ source: String, over target: String) throws {
            // In one step, as tools that renew do it.
            let data = try #require(FileManager.default.contents(atPath: source))
            try data.write(to: URL(filePath: target), options: .atomic)
        }
        let server = ServerBox()
        let gatewayListener = listener(tls: first.files)
        try await RunningServer.run { running in
            let certificate = try #require(server.certificate)
            #expect(try !certificate.reloadIfChanged())
            let before = try await shownName(running.port)
            try put(second.certificateFile, over: first.certificateFile)
            // The certificate alone does not fit the key: the old pair stays.
            #expect(throws: (any Error).self) { try certificate.reloadIfChanged() }
            #expect(try !certificate.reloadIfChanged())
            #expect(try await shownName(running.port) == before)
            try put(second.keyFile, over: first.keyFile)
            #expect(try certificate.reloadIfChanged())
            let after = try await shownName(running.port)
            #expect(after != before && !after.isEmpty)
        } _: { onListening in
            let made = try GatewayServer(
                listener: gatewayListener, services: gateway.services, onListening: onListening)
            server.certificate = made.certificate
            return made
        }
    }

    /// Opens connections that never say a word; `body` runs beside them.
    private func withSilent<Value: Sendable>(
        _ count: Int, port: Int, _ body: () async throws -> Value
    ) async throws -> Value {
        let script = """
            for n in $(seq \(count)); do exec {fd}<>/dev/tcp/127.0.0.1/\(port); done; echo open; sleep 600
            """
        let client = try ChildProcess("/usr/bin/env", ["bash", "-c", script])
        _ = try #require(await client.output.first(containing: "open"))
        let value = try await body()
        client.signal(SIGKILL)
        _ = await client.status()
        return value
    }

    @Test(arguments: [ConnectionLimits(total: 20), ConnectionLimits(total: 1000, perAddress: 20)])
    func silentConnectionsKeepNoOneOut(limits: ConnectionLimits) async throws {
        let gateway = try await TestGateway()
        let output = try await RunningServer.run(gateway.services, listener: listener(connections: limits)) { server in
            try await withSilent(100, port: server.port) {
                try await run("curl", ["-s", "-m", "60", "http://127.0.0.1:\(server.port)/healthz"]).output
            }
        }
        #expect(output == #"{"status":"ok"}"#)
    }

    @Test func aConnectionThatWasAskedSomethingKeepsItsPlace() async throws {
        let gateway = try await TestGateway()
        let limits = ConnectionLimits(total: 4)
        let output = try await RunningServer.run(gateway.services, listener: listener(connections: limits)) { server in
            let ask = { (more: String) in #"printf 'GET /healthz HTTP/1.1\r\nHost: a\r\n\#(more)\r\n' >&3"# }
            let script = """
                exec 3<>/dev/tcp/127.0.0.1/\(server.port); \(ask("")); timeout 60 head -n 1 <&3
                for n in $(seq 30); do exec {fd}<>/dev/tcp/127.0.0.1/\(server.port); done
                \(ask(#"Connection: close\r\n"#)); cat <&3
                """
            return try await run("bash", ["-c", script]).output
        }
        #expect(output.hasPrefix("HTTP/1.1 200"), "\(output)")
        #expect(output.hasSuffix(#"{"status":"ok"}"#), "\(output)")
    }

    @Test(arguments: [false, true])
    func aSilentConnectionIsClosed(isEncrypted: Bool) async throws {
        let gateway = try await TestGateway()
        let files = isEncrypted ? try await TestCertificate(in: gateway.directory).files : nil
        let listener = listener(tls: files, requestLimit: .milliseconds(200))
        let output = try await RunningServer.run(gateway.services, listener: listener) { server in
            try await run("bash", ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(server.port); cat <&3; echo closed"]).output
        }
        #expect(output == "closed")
    }
}

/// The certificate of a server that is made later.
private final class ServerBox: Sendable {
    private let value = Mutex<ListenerCertificate?>(nil)

    var certificate: ListenerCertificate? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
