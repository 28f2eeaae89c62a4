import Foundation
import TestSupport
import Testing

/// A script beside a test that judges with programs that are not ours.
///
/// It prints `ok WHAT` for each check and ends with `done COUNT`. `HERALD_PYTHON` names the interpreter that has the
/// libraries (`.ci/run` makes it).
struct PythonScript: Sendable {
    private static let python = ProcessInfo.processInfo.environment["HERALD_PYTHON"] ?? ""

    private let path: String
    /// What tests that need it say when it can't run.
    let expectation: Comment
    /// Asked once: an import of these takes a second.
    private let canRun: Task<Bool, any Error>

    /// - Parameters:
    ///   - path: the script beside the file that names it.
    ///   - modules: what it imports, separated by commas.
    ///   - programs: what else must be in /usr/bin.
    init(_ path: String, modules: String, programs: [String], file: String = #filePath) {
        self.path = URL(filePath: file).deletingLastPathComponent().appending(path: path).path()
        expectation = "needs HERALD_PYTHON with \(modules), and \(programs.joined(separator: ", "))"
        canRun = Task {
            let areFound = programs.allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }
            guard areFound, !Self.python.isEmpty else { return false }
            return try await ChildProcess.run(Self.python, ["-c", "import \(modules)"]).status == 0
        }
    }

    /// Whether everything is there.
    func isFound() async throws -> Bool {
        try await canRun.value
    }

    /// Runs a group of the script's checks on a file; the first that fails is an issue with what was printed.
    func run(_ group: String, _ file: String, at location: SourceLocation = #_sourceLocation) async throws {
        let ended = try await ChildProcess.run(Self.python, ["-B", path, group, file])
        let checks = ended.lines.count { $0.hasPrefix("ok ") }
        let isDone = ended.status == 0 && checks > 0 && ended.lines.last == "done \(checks)"
        #expect(isDone, "\(ended.lines.suffix(40).joined(separator: "\n"))", sourceLocation: location)
    }
}
