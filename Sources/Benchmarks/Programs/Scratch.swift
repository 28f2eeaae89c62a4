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
        Cleanup.add(folder: path)
        try FileManager.default.createDirectory(
            atPath: path + "/root/3", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try Data(Push.body.utf8).write(to: URL(filePath: body))
        // Empty: nghttpd answers 200 without a body, as APNs does.
        try Data().write(to: URL(filePath: root + "/3/device"))
        try makeCertificate()
    }

    deinit { Cleanup.remove(folder: path) }

    /// Replaces the body that h2load sends by one with so many bytes.
    func writeBody(bytes: Int) throws {
        let text = Push.body.utf8.prefix(bytes)
        let padding = Array(repeating: UInt8(ascii: " "), count: bytes - text.count)
        try (Data(text) + Data(padding)).write(to: URL(filePath: body))
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
        try write((0..<tokens).map { DevicePath.of($0, prefix: sink.pathPrefix) }, of: sink)
    }

    /// The same with these paths.
    func write(_ paths: [String], of sink: any Sink) throws {
        let text = paths.map { "https://127.0.0.1:\(sink.port)\($0)\n" }.joined()
        try Data(text.utf8).write(to: URL(filePath: addresses))
    }
}
