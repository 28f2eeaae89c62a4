import Foundation
import TestSupport

/// A key and a self-signed certificate, made at run time by the openssl command.
struct TLSMaterial: Sendable {
    let directory: TestDirectory
    var certificate: String { directory.file("certificate.pem") }
    var key: String { directory.file("key.pem") }

    /// - Parameter names: `subjectAltName` entries.
    init(names: String = "DNS:localhost,IP:127.0.0.1,IP:::1") throws {
        directory = try TestDirectory()
        let process = try ChildProcess(
            Tool.openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-keyout", key, "-out", certificate, "-subj", "/CN=test", "-addext", "subjectAltName=\(names)",
            ])
        guard process.wait() == 0 else { throw ToolFailure(what: "openssl req failed") }
    }
}

/// Programs that tests against real sockets need.
enum Tool {
    static let openssl = find("openssl")
    static let nghttpd = find("nghttpd")
    static var hasOpenSSL: Bool { !openssl.isEmpty }
    static var hasNghttpd: Bool { hasOpenSSL && !nghttpd.isEmpty }

    private static func find(_ name: String) -> String {
        ["/usr/bin/", "/usr/sbin/", "/usr/local/bin/"].map { $0 + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) } ?? ""
    }
}

struct ToolFailure: Error {
    let what: String
}
