import Foundation

/// How many files and sockets the process may have open.
enum DescriptorLimit {
    /// The soft limit (`ulimit -n`) as Linux gives it in `/proc`; `nil`: unlimited or unknown.
    static var current: Int? {
        FileManager.default.contents(atPath: "/proc/self/limits").flatMap {
            parsed(String(decoding: $0, as: UTF8.self))
        }
    }

    /// The limit in the text of `/proc/self/limits`: `Max open files <soft> <hard> files`.
    static func parsed(_ text: String) -> Int? {
        let name = "Max open files"
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return line.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
    }
}
