import ArgumentParser
import CLinux
import Foundation

/// Runs one program and prints what it cost as a line of JSON: a process of its own, so that the kernel's figures for
/// ended children are exactly that program's, from its start to its end.
struct MeasureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure", abstract: "Runs a program and prints what it cost.", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough, help: "The program's path and its arguments.") var command: [String]

    func run() throws {
        let words = command.first == "--" ? Array(command.dropFirst()) : command
        guard let program = words.first else { throw ValidationError("no program") }
        let before = Self.bytesWritten()
        let output = try Program(program, Array(words.dropFirst()))
        let text = output.waitForOutput()
        let usage = herald_usage_of_children()
        let cost = Cost(
            status: output.status, output: text, userMicroseconds: usage.user_microseconds,
            systemMicroseconds: usage.system_microseconds, peakKiB: usage.peak_kibibytes,
            bytesWritten: Self.bytesWritten() - before - Int64(text.utf8.count))
        print(String(decoding: try JSONEncoder().encode(cost), as: UTF8.self))
    }

    /// What this process and its ended children gave to `write`, sockets included (proc(5), `/proc/pid/io`).
    private static func bytesWritten() -> Int64 {
        guard let text = FileManager.default.contents(atPath: "/proc/self/io") else { return 0 }
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") where line.hasPrefix("wchar: ") {
            return Int64(line.dropFirst("wchar: ".count)) ?? 0
        }
        return 0
    }
}
