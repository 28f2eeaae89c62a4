import Foundation
import JSON
import PushModel

/// Where commands print: whole texts to standard output and standard error, at once.
struct Terminal: Sendable {
    /// Whether a person watches standard output.
    let isTerminal: Bool
    /// Whether a person watches standard error.
    let isErrorTerminal: Bool

    /// The process's own.
    static let standard = Terminal()

    private init() {
        isTerminal = isatty(STDOUT_FILENO) == 1
        isErrorTerminal = isatty(STDERR_FILENO) == 1
    }

    /// Prints a line to standard output.
    func print(_ text: String) {
        write(text + "\n", to: .standardOutput)
    }

    /// Whether a person can be asked: standard input and standard error are a terminal.
    var isInteractive: Bool { isErrorTerminal && isatty(STDIN_FILENO) == 1 }

    /// Asks on standard error and reads a line; `nil`: there is none.
    func ask(_ question: String) -> String? {
        write(question, to: .standardError)
        return readLine()
    }

    /// Prints a list as JSON: an object a line, in every command alike.
    func print(_ list: [JSONValue]) {
        for element in list { print(String(decoding: element.bytes, as: UTF8.self)) }
    }

    /// Prints a table: cut to the terminal for a person, whole for a program.
    func print(_ table: Table) {
        print(table.lines(width: isTerminal ? width : nil).joined(separator: "\n"))
    }

    /// Prints to standard output without a line end.
    func write(_ text: String) {
        write(text, to: .standardOutput)
    }

    /// Prints a line to standard error.
    func error(_ text: String) {
        write(text + "\n", to: .standardError)
    }

    /// Repaints a line of progress on standard error; nothing when that is no terminal.
    func progress(_ text: String) {
        guard isErrorTerminal else { return }
        write("\r\u{1b}[K" + text, to: .standardError)
    }

    /// Columns of the terminal: `COLUMNS`, what `stty` says, or 80.
    var width: Int {
        if let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 {
            return columns
        }
        guard isTerminal else { return 80 }
        return Self.columnsOfTerminal() ?? 80
    }

    private func write(_ text: String, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            // The reader has gone, as in `herald report | head`.
        }
    }

    /// Asks `stty` for at most a second, since the ioctl behind it takes a raw pointer.
    private static func columnsOfTerminal() -> Int? {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/stty")
        process.arguments = ["size"]
        process.standardInput = FileHandle.standardInput
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        do {
            try process.run()
            // A terminal that does not answer must not hold up the command.
            let id = process.processIdentifier
            let deadline = DispatchWorkItem { kill(id, SIGKILL) }
            DispatchQueue.global().asyncAfter(deadline: .now() + 1, execute: deadline)
            let data = try output.fileHandleForReading.readToEnd() ?? Data()
            deadline.cancel()
            return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
        } catch {
            // No stty: the caller has a width for that.
            return nil
        }
    }
}
