import Foundation
import Synchronization
import Testing

/// `herald` as a process of its own, so that it can be killed as the kernel kills.
final class GatewayProcess: Sendable {
    /// The address it listens on.
    let baseURL: String
    private let process: Mutex<Process>
    private let output: OutputLines

    /// Starts `herald serve` and returns once it listens.
    static func serving(config: String, environment: [String: String] = [:]) async throws -> GatewayProcess {
        let output = OutputLines()
        let process = try Self.launch(["serve", "--config", config], environment: environment, output: output)
        guard let line = await output.first(containing: "listening"),
            let port = line.firstMatch(of: /port=(\d+)/)?.output.1
        else {
            process.waitUntilExit()
            throw GatewayProcessError(
                message: "ended with \(process.terminationStatus): \(output.lines.joined(separator: "\n"))")
        }
        return GatewayProcess(baseURL: "http://127.0.0.1:\(port)", process: process, output: output)
    }

    /// Runs a command to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: [String], errors: [String]) {
        let output = OutputLines()
        let errors = OutputLines()
        let process = try launch(arguments, environment: environment, output: output, errors: errors)
        await output.finished()
        await errors.finished()
        process.waitUntilExit()
        return (process.terminationStatus, output.lines, errors.lines)
    }

    private init(baseURL: String, process: sending Process, output: OutputLines) {
        self.baseURL = baseURL
        self.process = Mutex(process)
        self.output = output
    }

    /// Sends a signal, waits for the end and gives the exit status, negative for the signal that ended it.
    @discardableResult
    func end(with signal: Int32) async -> Int32 {
        process.withLock { _ = kill($0.processIdentifier, signal) }
        await output.finished()
        return process.withLock { process in
            process.waitUntilExit()
            return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        }
    }

    /// Sends a signal and leaves it running.
    func signal(_ signal: Int32) {
        process.withLock { _ = kill($0.processIdentifier, signal) }
    }

    /// The first line, past or future, that contains `text`; `nil` when the process ended without one.
    func line(containing text: String) async -> String? {
        await output.first(containing: text)
    }

    /// What it has printed so far.
    var lines: [String] { output.lines }

    deinit {
        process.withLock { if $0.isRunning { kill($0.processIdentifier, SIGKILL) } }
    }

    private static func launch(
        _ arguments: [String], environment: [String: String], output: OutputLines, errors: OutputLines? = nil
    ) throws -> sending Process {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HERALD_") }
            .merging(environment) { $1 }
        let standardOutput = Pipe()
        process.standardOutput = standardOutput
        process.standardInput = FileHandle.nullDevice
        output.read(standardOutput.fileHandleForReading)
        if let errors {
            let standardError = Pipe()
            process.standardError = standardError
            errors.read(standardError.fileHandleForReading)
        } else {
            process.standardError = standardOutput
        }
        try process.run()
        return process
    }

    /// The product beside the test bundle: both are built together.
    private static func executable() throws -> URL {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let url = URL(filePath: bundle).deletingLastPathComponent().appending(path: "herald")
        guard FileManager.default.isExecutableFile(atPath: url.path()) else {
            throw GatewayProcessError(message: "no executable at \(url.path())")
        }
        return url
    }
}

struct GatewayProcessError: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}

/// Lines of a process's output, kept, with waiters for one that contains a text.
final class OutputLines: Sendable {
    private struct State {
        var lines: [String] = []
        var rest = Data()
        var isFinished = false
        var waiters: [(text: String?, continuation: CheckedContinuation<String?, Never>)] = []
    }

    private let state = Mutex(State())

    var lines: [String] { state.withLock { $0.lines } }

    /// Reads a pipe to its end, on the queue of the file handle.
    func read(_ handle: FileHandle) {
        handle.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self.take(data)
        }
    }

    func first(containing text: String) async -> String? {
        await withCheckedContinuation { continuation in
            let found: String?? = state.withLock { state in
                if let line = state.lines.first(where: { $0.contains(text) }) { return .some(line) }
                if state.isFinished { return .some(nil) }
                state.waiters.append((text, continuation))
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }

    func finished() async {
        _ = await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.waiters.append((nil, continuation)) }
                return state.isFinished
            }
            if isFinished { continuation.resume(returning: nil) }
        }
    }

    private func take(_ data: Data) {
        let resumptions: [(CheckedContinuation<String?, Never>, String?)] = state.withLock { state in
            var ready: [(CheckedContinuation<String?, Never>, String?)] = []
            state.rest.append(data)
            var fresh: [String] = []
            while let end = state.rest.firstIndex(of: UInt8(ascii: "\n")) {
                fresh.append(String(decoding: state.rest[..<end], as: UTF8.self))
                state.rest = Data(state.rest[state.rest.index(after: end)...])
            }
            if data.isEmpty {
                if !state.rest.isEmpty { fresh.append(String(decoding: state.rest, as: UTF8.self)) }
                state.isFinished = true
            }
            state.lines += fresh
            state.waiters.removeAll { waiter in
                if let text = waiter.text, let line = fresh.first(where: { $0.contains(text) }) {
                    ready.append((waiter.continuation, line))
                    return true
                }
                guard state.isFinished else { return false }
                ready.append((waiter.continuation, nil))
                return true
            }
            return ready
        }
        for (continuation, line) in resumptions { continuation.resume(returning: line) }
    }
}
