import Foundation
import NIOCore

/// `herald serve`, the release binary beside this one, in a process of its own.
final class GatewayProcess {
    private let process = Process()
    /// `http://127.0.0.1:port`.
    let address: String
    /// When the process was started, on the monotonic clock, in nanoseconds.
    let startTime: UInt64
    /// The same.
    let startInstant: ContinuousClock.Instant
    /// From there until it listened.
    let timeToListen: Duration

    /// The program under test.
    static var herald: String {
        get throws {
            let folder = URL(filePath: try Program.own).deletingLastPathComponent().path
            guard FileManager.default.isExecutableFile(atPath: folder + "/herald") else {
                throw BenchFailure(
                    "\(folder)/herald is missing: swift build -c release --product herald makes it")
            }
            return folder + "/herald"
        }
    }

    private static let startLimit = Duration.seconds(120)

    /// Starts it on `cores` and returns once it listens.
    ///
    /// - Parameter node: its place among those that have these files.
    init(_ files: GatewayFiles, cores: String, node: Int = 0) async throws {
        let path = files.log(of: node)
        guard FileManager.default.createFile(atPath: path, contents: nil), let log = FileHandle(forWritingAtPath: path)
        else {
            throw BenchFailure("\(path) can't be written")
        }
        process.executableURL = URL(filePath: try Program.find("taskset", package: "util-linux"))
        process.arguments = ["-c", cores, try Self.herald, "serve", "--config", files.configuration]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = log
        startInstant = .now
        startTime = NIODeadline.now().uptimeNanoseconds
        try process.run()
        Cleanup.add(process: process.processIdentifier)
        do {
            let port = try await Self.port(process, log: path)
            address = "\(files.setup.isEncrypted ? "https" : "http")://127.0.0.1:\(port)"
        } catch {
            Self.kill(process)
            throw error
        }
        timeToListen = .nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds - startTime))
    }

    deinit { kill() }

    /// Waits for the log's line about the port.
    private static func port(_ process: Process, log: String) async throws -> Int {
        let begin = ContinuousClock.now
        while ContinuousClock.now - begin < startLimit {
            let text = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
            for line in text.split(separator: "\n") where line.contains(" listening ") {
                if let port = line.split(separator: " ").last(where: { $0.hasPrefix("port=") }) {
                    if let number = Int(port.dropFirst("port=".count)) { return number }
                }
            }
            guard process.isRunning else { throw BenchFailure("herald serve ended at once: \(text)") }
            // A file can't be waited for in Foundation; a thousandth of a second is the resolution of what is told.
            try await Task.sleep(for: .milliseconds(1))
        }
        throw BenchFailure("herald serve did not listen within \(startLimit)")
    }

    /// Its number: taskset has become it.
    var id: Int32 { process.processIdentifier }

    /// SIGKILL: a crash.
    func kill() { Self.kill(process) }

    private static func kill(_ process: Process) {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        Cleanup.remove(process: process.processIdentifier)
    }

    /// SIGTERM: an orderly end, with the store closed.
    func stop() throws {
        process.terminate()
        process.waitUntilExit()
        Cleanup.remove(process: process.processIdentifier)
        guard process.terminationStatus == 0 else {
            throw BenchFailure("herald serve ended with status \(process.terminationStatus)")
        }
    }
}
