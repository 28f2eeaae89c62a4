import Foundation
import Synchronization
import TestSupport

@testable import HTTP2Client

/// A running nghttpd: another HTTP/2 server than any of ours.
final class Nghttpd: Sendable {
    let port: Int
    let tls: TLSMaterial
    private let root: TestDirectory
    private let process: Mutex<ChildProcess>

    /// Starts it and returns once it listens. `GET /hello` and `POST /hello` answer 200.
    ///
    /// - Parameter asksForCertificate: whether it ends the handshake with a client that shows no certificate; it takes any.
    init(streams: Int = 100, asksForCertificate: Bool = false) async throws {
        tls = try TLSMaterial()
        root = try TestDirectory()
        try Data("hello".utf8).write(to: URL(filePath: root.file("hello")))
        let (tls, root) = (tls, root)
        let (port, child) = try await onFreePort { port in
            let process = try ChildProcess(
                Tool.nghttpd,
                (asksForCertificate ? ["--verify-client"] : [])
                    + Self.arguments(port: port, tls: tls, root: root, streams: streams))
            return try await isListening(process, port: port) ? (port, process) : nil
        }
        self.port = port
        process = Mutex(child)
    }

    private static func arguments(port: Int, tls: TLSMaterial, root: TestDirectory, streams: Int) -> [String] {
        ["-a", "127.0.0.1", "-m", String(streams), "-d", root.path, String(port), tls.key, tls.certificate]
    }

    /// Starts it again on the same port, after ``kill()``.
    func restart() async throws {
        let again = try ChildProcess(
            Tool.nghttpd, Self.arguments(port: port, tls: tls, root: root, streams: 100))
        guard try await isListening(again, port: port) else { throw ToolFailure(what: "nghttpd ended") }
        process.withLock { $0 = again }
    }

    /// Ends it without a farewell.
    func kill() { process.withLock { $0.kill() } }
}
