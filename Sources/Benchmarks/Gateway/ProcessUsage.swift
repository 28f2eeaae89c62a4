import CLinux
import Foundation

/// What a running process has used so far.
struct ProcessUsage {
    /// User and system time of all its threads.
    let processor: Duration
    /// Bytes that it caused to be written to storage (proc(5), `/proc/pid/io`). Zero on tmpfs.
    let bytesWritten: Int

    /// Reads it.
    init(of process: Int32) throws {
        let nanoseconds = herald_processor_nanoseconds(process)
        guard nanoseconds >= 0, let written = Self.number("write_bytes:", in: "/proc/\(process)/io") else {
            throw BenchFailure("the kernel tells nothing about process \(process): has it ended?")
        }
        processor = .nanoseconds(nanoseconds)
        bytesWritten = written
    }

    /// The most memory that it had resident since the last ``resetPeak(of:)``, in bytes.
    static func peakBytes(of process: Int32) -> Int {
        (number("VmHWM:", in: "/proc/\(process)/status") ?? 0) * 1024
    }

    /// The memory that it has resident now, in bytes.
    static func residentBytes(of process: Int32) -> Int {
        (number("VmRSS:", in: "/proc/\(process)/status") ?? 0) * 1024
    }

    /// Lets the peak begin anew (proc(5), `/proc/pid/clear_refs`).
    static func resetPeak(of process: Int32) throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/\(process)/clear_refs"), options: [])
    }

    /// The number behind a name at the start of a line.
    private static func number(_ name: String, in file: String) -> Int? {
        guard let text = FileManager.default.contents(atPath: file) else { return nil }
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") where line.hasPrefix(name) {
            return line.dropFirst(name.count).split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
        }
        return nil
    }
}
