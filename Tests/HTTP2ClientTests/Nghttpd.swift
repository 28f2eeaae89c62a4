import Foundation
import Glibc
import Synchronization
import TestSupport

/// A running nghttpd: another HTTP/2 server than any of ours.
final class Nghttpd: Sendable {
    let port: Int
    let tls: TLSMaterial
    private let root: TestDirectory
    private let process: Mutex<Process>

    /// Starts it and returns once it listens. `GET /hello` and `POST /hello` answer 200.
    init(streams: Int = 100, arguments: [String] = []) async throws {
        tls = try TLSMaterial()
        root = try TestDirectory()
        port = try freePort()
        try Data("hello".utf8).write(to: URL(filePath: root.file("hello")))
        process = Mutex(Process())
        try await start(streams: streams, arguments: arguments)
    }

    private func start(streams: Int, arguments: [String]) async throws {
        let process = Process()
        process.executableURL = URL(filePath: Tool.nghttpd)
        process.arguments =
            ["-a", "127.0.0.1", "-m", String(streams), "-d", root.path]
            + arguments + [String(port), tls.key, tls.certificate]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process.withLock { $0 = process }
        // It says nothing when it listens: knock until it opens.
        while !isListening(port: port) {
            guard process.isRunning else { throw ToolFailure(what: "nghttpd ended") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Starts it again on the same port, after ``kill()``.
    func restart(streams: Int = 100) async throws {
        try await start(streams: streams, arguments: [])
    }

    /// Ends it without a farewell.
    func kill() {
        process.withLock { process in
            guard process.isRunning else { return }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    deinit { kill() }
}
