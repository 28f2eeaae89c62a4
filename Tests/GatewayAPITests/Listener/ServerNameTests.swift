import HTTPListener
import TestSupport
import Testing

@testable import GatewayAPI

/// Several certificates on one listener (RFC 6066 §3).
@Suite(.timeLimit(.minutes(5)))
struct ServerNameTests {
    private static func certificate(
        _ name: String, for names: String, in directory: TestDirectory
    ) async throws -> (certificateFile: String, keyFile: String) {
        let (certificate, key) = (directory.file("\(name).crt"), directory.file("\(name).key"))
        let made = try await run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(names)", "-out", certificate, "-keyout", key,
            ])
        try #require(made.status == 0)
        return (certificate, key)
    }

    /// What `curl` says of a request to a host, trusting one certificate only.
    private static func answer(_ host: String, trusting file: String, _ port: Int) async throws -> String {
        try await run(
            "curl",
            [
                "-s", "-m", "60", "--cacert", file, "--resolve", "\(host):\(port):127.0.0.1",
                "https://\(host):\(port)/healthz",
            ]
        ).output
    }

    @Test("a client gets the certificate of the name that it asks for, and any other client the first")
    func choice() async throws {
        let gateway = try await TestGateway()
        let first = try await Self.certificate("api", for: "IP:127.0.0.1,DNS:api.example", in: gateway.directory)
        let link = try await Self.certificate("link", for: "DNS:go.example", in: gateway.directory)
        let wild = try await Self.certificate("wild", for: "DNS:*.go.example,DNS:API.example", in: gateway.directory)
        var listener = GatewayListener.loopback(tls: first)
        listener.http.otherCertificates = [link, wild]
        try await RunningServer.run(gateway.services, listener: listener) { server in
            let asked = [
                ("api.example", first, true), ("127.0.0.1", first, true), ("go.example", link, true),
                ("A.go.example", wild, true), ("a.b.go.example", wild, false), ("go.example", first, false),
            ]
            for (host, certificate, isTrusted) in asked {
                let answer = try await Self.answer(host, trusting: certificate.certificateFile, server.port)
                #expect(answer == (isTrusted ? #"{"status":"ok"}"# : ""), "\(host)")
            }
        }
    }

    @Test("a renewed certificate of a further name is taken, and its bad successor is not")
    func renewal() async throws {
        let gateway = try await TestGateway()
        let first = try await Self.certificate("api", for: "DNS:api.example", in: gateway.directory)
        let link = try await Self.certificate("link", for: "DNS:go.example", in: gateway.directory)
        let certificate = try ListenerCertificate(certificateFile: link.certificateFile, keyFile: link.keyFile)
        let end = certificate.validUntil
        _ = try await Self.certificate("link", for: "DNS:go.example", in: gateway.directory)
        #expect(try certificate.reloadIfChanged() && certificate.validUntil >= end)
        #expect(throws: (any Error).self) {
            try ListenerCertificate(
                certificateFile: link.certificateFile, keyFile: first.keyFile, others: [certificate])
        }
    }
}
