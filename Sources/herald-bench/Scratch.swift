import Foundation

/// A directory for one run: certificate, body, paths, and the file that nghttpd answers with. Removed with the value.
final class Scratch {
    let path: String
    var certificate: String { path + "/certificate.pem" }
    var key: String { path + "/key.pem" }
    var body: String { path + "/body.json" }
    var root: String { path + "/root" }
    var addresses: String { path + "/addresses.txt" }

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/herald-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path + "/root/3", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try Data(Push.body.utf8).write(to: URL(filePath: body))
        // Empty: nghttpd answers 200 without a body, as APNs does.
        try Data().write(to: URL(filePath: root + "/3/device"))
        try makeCertificate()
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            print("\(path) could not be removed: \(error)")
        }
    }

    private func makeCertificate() throws {
        let openssl = try Program.find("openssl", package: "openssl")
        let program = try Program(
            openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-keyout", key, "-out", certificate, "-subj", "/CN=herald-bench", "-addext",
                "subjectAltName=IP:127.0.0.1",
            ])
        _ = program.waitForOutput()
        guard program.status == 0 else { throw BenchFailure("openssl req failed") }
    }

    /// The file that h2load takes its paths from: one for each device token.
    func writeAddresses(of sink: any Sink, tokens: Int) throws {
        let text = (0..<tokens).map { "https://127.0.0.1:\(sink.port)\(DevicePath.of($0, prefix: sink.pathPrefix))" }
            .joined(separator: "\n")
        try Data((text + "\n").utf8).write(to: URL(filePath: addresses))
    }
}
