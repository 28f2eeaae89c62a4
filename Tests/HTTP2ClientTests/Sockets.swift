import Foundation
import Glibc
import TestSupport

/// The TCP sockets of this process, as the kernel lists them.
enum Sockets {
    /// How many of them are connected, or connecting, to `port` of an IPv4 address.
    static func count(to port: Int, of loopback: Loopback = .v4) throws -> Int {
        let wanted = String(format: "%08X:%04X", loopback.v4Address, port)
        // Columns: number, local, remote, state, …, inode.
        let inodes = try table().split(separator: "\n").dropFirst().compactMap { line -> String? in
            let columns = line.split(separator: " ")
            return columns[2] == wanted ? String(columns[9]) : nil
        }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            // A descriptor may close between listing and looking: then it counts for nothing.
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
        }
        return inodes.filter { open.contains("socket:[\($0)]") }.count
    }

    /// Foundation would read one page of a file that says its size is zero.
    private static func table() throws -> String {
        let descriptor = unsafe open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ToolFailure(what: "/proc/self/net/tcp: error \(errno)") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
