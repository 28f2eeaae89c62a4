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
    /// `HERALD_PYTHON` names one that has the h2 library; otherwise the system's may have it.
    static let python = ProcessInfo.processInfo.environment["HERALD_PYTHON"] ?? find("python3")
    static let hasPythonH2 = hasOpenSSL && !python.isEmpty && succeeds(python, ["-c", "import h2"])
    static var hasOpenSSL: Bool { !openssl.isEmpty }
    static var hasNghttpd: Bool { hasOpenSSL && !nghttpd.isEmpty }

    private static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
        do {
            return try ChildProcess(program, arguments).wait() == 0
        } catch {
            // It can't be started: as good as not there.
            return false
        }
    }

    private static func find(_ name: String) -> String {
        ["/usr/bin/", "/usr/sbin/", "/usr/local/bin/"].map { $0 + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) } ?? ""
    }
}

struct ToolFailure: Error {
    let what: String
}
