import Foundation
import TestSupport

/// `herald serve` as a process of its own, so that it can be killed as the kernel kills.
final class GatewayProcess: Sendable {
    /// The address it listens on.
    let baseURL: String
    private let process: ChildProcess

    private init(baseURL: String, process: ChildProcess) {
        self.baseURL = baseURL
        self.process = process
    }

    /// Starts `herald serve` and returns once it listens.
    ///
    /// - Parameter prefix: a program that runs it, with its arguments.
    static func serving(
        config: String, environment: [String: String] = [:], prefix: [String] = []
    ) async throws -> GatewayProcess {
        let command = prefix + [try executable(), "serve", "--config", config]
        let process = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: Self.environment(with: environment))
        guard let line = await process.output.first(containing: " listening address="),
            let (_, scheme, port) = line.firstMatch(of: /address=(https?):.* port=(\d+)/)?.output
        else {
            process.signal(SIGKILL)
            throw ChildProcessError("ended with \(await process.status()): \(process.output.lines)")
        }
        return GatewayProcess(baseURL: "\(scheme)://127.0.0.1:\(port)", process: process)
    }

    /// Runs a command of `herald` to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], prefix: [String] = []
    ) async throws -> (status: Int32, lines: [String]) {
        let command = prefix + [try executable()] + arguments
        return try await ChildProcess.run(
            command[0], Array(command.dropFirst()), environment: Self.environment(with: environment))
    }

    /// Its process id.
    var id: Int32 { process.id }

    /// Sends a signal, waits for the end and gives the exit status, negative for the signal that ended it.
    @discardableResult
    func end(with signal: Int32) async -> Int32 {
        process.signal(signal)
        return await process.status()
    }

    /// Sends a signal and leaves it running.
    func signal(_ signal: Int32) {
        process.signal(signal)
    }

    /// The first line, past or future, that contains `text`; `nil` when the process ended without one.
    func line(containing text: String) async -> String? {
        await process.output.first(containing: text)
    }

    /// What it has printed so far.
    var lines: [String] { process.output.lines }

    static func environment(with more: [String: String]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HERALD_") }.merging(more) { $1 }
    }

    /// The product beside the test bundle: both are built together.
    static func executable() throws -> String {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(filePath: bundle).deletingLastPathComponent().appending(path: "herald").path()
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw ChildProcessError("no executable at \(path)")
        }
        return path
    }
}
