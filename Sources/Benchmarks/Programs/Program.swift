import Foundation

/// A program beside the benchmark.
final class Program {
    private let process = Process()
    private let output = Pipe()
    /// What it printed, once it has ended.
    private(set) var printed = ""

    /// Starts it. Standard error is let through when `showsErrors`.
    init(_ path: String, _ arguments: [String], showsErrors: Bool = false) throws {
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = showsErrors ? FileHandle.standardError : FileHandle.nullDevice
        try process.run()
        Cleanup.add(process: process.processIdentifier)
    }

    /// Waits until it ends; what it printed.
    func waitForOutput() -> String {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        Cleanup.remove(process: process.processIdentifier)
        printed = String(decoding: data, as: UTF8.self)
        return printed
    }

    /// The next line that it prints, without its end; what there is when it ends before.
    func readLine() -> String {
        var line: [UInt8] = []
        while true {
            let data = output.fileHandleForReading.readData(ofLength: 1)
            guard let byte = data.first, byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// The process's number.
    var id: Int32 { process.processIdentifier }

    /// Its exit status, once it has ended.
    var status: Int32 { process.terminationStatus }

    var isRunning: Bool { process.isRunning }

    /// Stops it where it stands: its connections stay, and nothing is read or answered any more.
    func freeze() { kill(process.processIdentifier, SIGSTOP) }

    /// Lets it go on after ``freeze()``.
    func thaw() { kill(process.processIdentifier, SIGCONT) }

    /// Ends it, if it still runs, and waits for that. By SIGKILL: nothing here has anything to save, and a program may
    /// have inherited a mask that holds SIGTERM back.
    func end() { end(by: SIGKILL) }

    /// The same by another signal, for a program that ends others before itself.
    func end(by signal: Int32) {
        guard process.isRunning else { return }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        Cleanup.remove(process: process.processIdentifier)
    }

    /// The path of a program; says which Debian package has it when it is not there.
    static func find(_ name: String, package: String) throws -> String {
        let places = ["/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/", "/bin/"]
        guard let place = places.first(where: { FileManager.default.isExecutableFile(atPath: $0 + name) }) else {
            throw BenchFailure(
                "\(name) is missing: it comes with the Debian package \(package) (apt-get install \(package))")
        }
        return place + name
    }

    /// This program.
    static var own: String {
        get throws { try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") }
    }

    /// No run may take longer, in seconds, unless it is told to.
    static let timeLimit = 300

    /// Runs `command` to its end, on `cores`, by way of ``MeasureCommand``.
    ///
    /// - Parameter seconds: after which it is killed.
    static func measured(_ command: [String], cores: String, within seconds: Int = timeLimit) throws -> Cost {
        let words =
            ["measure", "--", try find("taskset", package: "util-linux"), "-c", cores]
            + [try find("timeout", package: "coreutils"), "-s", "KILL", String(seconds)] + command
        let program = try Program(try own, words, showsErrors: true)
        let text = program.waitForOutput()
        guard program.status == 0 else { throw BenchFailure("\(command[0]) could not be measured") }
        let cost = try JSONDecoder().decode(Cost.self, from: Data(text.utf8))
        guard cost.status == 0 else {
            throw BenchFailure("\(command[0]) ended with status \(cost.status): \(cost.output.suffix(500))")
        }
        return cost
    }
}
