import Foundation
import Synchronization
import TestSupport

/// A running nghttpd: another HTTP/2 server than any of ours.
final class Nghttpd: Sendable {
    let port: Int
    let tls: TLSMaterial
    private let root: TestDirectory
    private let process: Mutex<ChildProcess>

    /// Starts it and returns once it listens. `GET /hello` and `POST /hello` answer 200.
    init(streams: Int = 100) async throws {
        tls = try TLSMaterial()
        root = try TestDirectory()
        port = try freePort()
        try Data("hello".utf8).write(to: URL(filePath: root.file("hello")))
        process = Mutex(try await Self.start(port: port, tls: tls, root: root, streams: streams))
    }

    private static func start(port: Int, tls: TLSMaterial, root: TestDirectory, streams: Int) async throws
        -> ChildProcess
    {
        let process = try ChildProcess(
            Tool.nghttpd,
            ["-a", "127.0.0.1", "-m", String(streams), "-d", root.path, String(port), tls.key, tls.certificate])
        // It says nothing when it listens: knock until it opens.
        while !isListening(port: port) {
            guard process.isRunning else { throw ToolFailure(what: "nghttpd ended") }
            try await Task.sleep(for: .milliseconds(5))
        }
        return process
    }

    /// Starts it again on the same port, after ``kill()``.
    func restart() async throws {
        let again = try await Self.start(port: port, tls: tls, root: root, streams: 100)
        process.withLock { $0 = again }
    }

    /// Ends it without a farewell.
    func kill() { process.withLock { $0.kill() } }
}
