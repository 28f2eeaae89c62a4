import Foundation
import HTTPListener
import PushModel
import Store
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
    ) -> GatewayListener {
        var listener = GatewayListener.loopback(tls: tls, requestLimit: requestLimit)
        listener.http.connectionLimits = connections
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

    /// The host of an absolute target wins over `Host` (RFC 9112 §3.2.2), and what is no host is refused.
    @Test(arguments: [
        ("/healthz", "push.example.com", "200"), ("/healthz", "go.example.com", "404 links"),
        ("/healthz", "go.example.com ", "404 links"), ("/healthz", "push.example.com \t", "200"),
        ("/healthz", "go.example.com x ", "400"),
        ("/healthz", "GO.example.com.:8443", "404 links"), ("/healthz", "[::1]:8080", "200"),
        ("http://push.example.com/healthz", "go.example.com", "200"),
        ("https://go.example.com/healthz", "push.example.com", "404 links"),
        ("http://push.example.com/healthz", "go.example.com..", "400"),
        ("/healthz", "go.example.com..", "400"), ("/healthz", "x@go.example.com", "400"),
        ("/healthz", "go.example.com:80:80", "400"), ("/healthz", "go%2Eexample.com", "400"),
        ("http://x@go.example.com/healthz", "a", "400"), ("ftp://go.example.com/healthz", "a", "400"),
    ])
    func aRequestIsForOneHost(target: String, host: String, expected: String) async throws {
        let gateway = try await LinkGateway()
        let request = "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
        let output = try await RunningServer.run(gateway.services, listener: listener()) { server in
            try await raw(request, port: server.port)
        }
        #expect(output.hasPrefix("HTTP/1.1 \(expected.prefix(3)) "), "\(output)")
        #expect(output.lowercased().contains("x-robots-tag") == expected.hasSuffix("links"), "\(output)")
        #expect(output.contains(#""field":"Host""#) == (expected == "400"), "\(output)")
    }

    @Test(arguments: [
        ("push.example.com", "200"), ("go.example.com", "404 links"), ("go.example.com..", "400"),
        ("x@go.example.com", "400"),
    ])
    func anHTTP2RequestIsForOneHost(host: String, expected: String) async throws {
        let gateway = try await LinkGateway()
        let files = try await TestCertificate(in: gateway.gateway.directory).files
        let output = try await RunningServer.run(gateway.services, listener: listener(tls: files)) { server in
            let url = "https://127.0.0.1:\(server.port)/healthz"
            return try await run("curl", ["-sik", "--http2", "-m", "60", "-H", "Host: \(host)", url]).output
        }
        #expect(output.hasPrefix("HTTP/2 \(expected.prefix(3))"), "\(output)")
        #expect(output.contains("x-robots-tag") == expected.hasSuffix("links"), "\(output)")
        #expect(output.contains(#""field":"Host""#) == (expected == "400"), "\(output)")
    }

    /// Writes bytes that are no format of a shell's, and returns what comes back until the peer closes.
    private func raw(_ text: String, port: Int) async throws -> String {
        let bytes = text.utf8.map { #"\x"# + (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
        return try await exchange(bytes, port: port)
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
            server.certificate = made.certificates.first
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

    /// The attack: a request without a credential on each connection, and then nothing.
    @Test func connectionsThatAskedOnceKeepNoOneOut() async throws {
        let gateway = try await TestGateway()
        let limits = ConnectionLimits(total: 20)
        let output = try await RunningServer.run(gateway.services, listener: listener(connections: limits)) { server in
            let script = """
                for n in $(seq 40); do
                    exec {fd}<>/dev/tcp/127.0.0.1/\(server.port)
                    printf 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n' >&$fd; head -n 1 <&$fd >/dev/null
                done
                echo open; sleep 600
                """
            let client = try ChildProcess("/usr/bin/env", ["bash", "-c", script])
            _ = try #require(await client.output.first(containing: "open"))
            let output = try await run("curl", ["-s", "-m", "60", "http://127.0.0.1:\(server.port)/healthz"]).output
            client.signal(SIGKILL)
            _ = await client.status()
            return output
        }
        #expect(output == #"{"status":"ok"}"#)
    }

    /// Writes a request to connection 3 of a script.
    private func ask(_ path: String, _ fields: String...) -> String {
        let head = ["GET \(path) HTTP/1.1", "Host: a"] + fields
        return "printf '%b' '\(head.joined(separator: #"\r\n"#))\\r\\n\\r\\n' >&3"
    }

    @Test func aBackendsConnectionKeepsItsPlace() async throws {
        let gateway = try await TestGateway()
        let credential = "Authorization: Bearer \(try #require(gateway.keys[.sender]).text)"
        let limits = ConnectionLimits(total: 4)
        let output = try await RunningServer.run(gateway.services, listener: listener(connections: limits)) { server in
            let script = """
                exec 3<>/dev/tcp/127.0.0.1/\(server.port); \(ask("/v1/projects/demo/messages", credential))
                timeout 60 head -n 1 <&3
                for n in $(seq 30); do exec {fd}<>/dev/tcp/127.0.0.1/\(server.port); done
                \(ask("/healthz", "Connection: close")); timeout 60 cat <&3
                """
            return try await run("bash", ["-c", script]).output
        }
        #expect(output.hasPrefix("HTTP/1.1 200"), "\(output)")
        #expect(output.hasSuffix(#"{"status":"ok"}"#), "\(output)")
    }

    @Test func onlyABackendsConnectionOutlivesTheIdleLimit() async throws {
        let gateway = try await TestGateway()
        func credential(_ role: Role) throws -> String {
            "Authorization: Bearer \(try #require(gateway.keys[role]).text)"
        }
        let (backend, client) = (try credential(.sender), try credential(.client))
        var listener = listener()
        // Long enough for a request that waits for a busy machine.
        listener.http.idleLimit = .seconds(5)
        let output = try await RunningServer.run(gateway.services, listener: listener) { server in
            // The client's connection is opened later: when it was closed, the backend's was idle for longer.
            let script = """
                exec 3<>/dev/tcp/127.0.0.1/\(server.port); \(ask("/v1/projects/demo/messages", backend))
                head -n 1 <&3
                exec 4<&3 3<>/dev/tcp/127.0.0.1/\(server.port); \(ask("/v1/projects/demo/messages", client))
                timeout 60 head -n 1 <&3; timeout 60 cat <&3 >/dev/null && echo closed
                exec 3>&4; \(ask("/healthz", "Connection: close")); timeout 60 cat <&4
                """
            return try await run("bash", ["-c", script]).output
        }
        #expect(output.hasPrefix("HTTP/1.1 200"), "\(output)")
        #expect(output.contains("HTTP/1.1 403"), "\(output)")
        #expect(output.contains("closed"), "\(output)")
        #expect(output.hasSuffix(#"{"status":"ok"}"#), "\(output)")
    }

    @Test(arguments: [
        #"HTTP/1.1\r\nHost: a\r\nConnection: Close"#, #"HTTP/1.1\r\nHost: a\r\nConnection: CLOSE"#,
        #"HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close"#, #"HTTP/1.0\r\nHost: a"#,
    ])
    func aConnectionEndsWhereTheRequestSaysSo(rest: String) async throws {
        let gateway = try await TestGateway()
        let output = try await RunningServer.run(gateway.services, listener: listener()) { server in
            let script = """
                exec 3<>/dev/tcp/127.0.0.1/\(server.port); printf '%b' 'GET /healthz \(rest)\\r\\n\\r\\n' >&3
                timeout 20 cat <&3 && echo && echo closed
                """
            return try await run("bash", ["-c", script]).output
        }
        #expect(output.hasPrefix("HTTP/1.1 200") && output.hasSuffix("closed"), "\(output)")
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

    /// A part of an HTTP/2 preface is more than nothing, and no request that anything else would wait for.
    @Test func aConnectionThatBreaksOffItsPrefaceIsClosed() async throws {
        let gateway = try await TestGateway()
        let files = try await TestCertificate(in: gateway.directory).files
        let listener = listener(tls: files, requestLimit: .milliseconds(500))
        let output = try await RunningServer.run(gateway.services, listener: listener) { server in
            // s_client -quiet stays when its input ends.
            let client = "openssl s_client -quiet -alpn h2 -connect 127.0.0.1:\(server.port)"
            return try await run("bash", ["-c", "printf 'PRI * HT' | \(client) 2>/dev/null | wc -c; echo closed"])
                .output
        }
        #expect(output.hasSuffix("closed"), "\(output)")
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
