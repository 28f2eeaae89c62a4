import Foundation
import Glibc

/// A file system of a few megabytes in memory, which only programs see that are started by ``command``: it can be filled
/// and made read-only without harm to anything else.
///
/// It lives in a mount namespace that a sleeping process holds; the test reaches its files through `/proc`.
package final class SmallDisk: Sendable {
    /// Where it is mounted, for the programs in its namespace.
    package let path: String
    private let holder: ChildProcess
    private let isRoot: Bool

    /// Whether this machine lets the test mount one: as root, or in a user namespace.
    package static func isPossible() async -> Bool {
        do {
            return try await ChildProcess.run(
                unshare, options(isRoot: geteuid() == 0) + ["mount", "-t", "tmpfs", "none", "/mnt"]
            )
            .status == 0
        } catch {
            return false
        }
    }

    private static let unshare = "/usr/bin/unshare"

    private static func options(isRoot: Bool) -> [String] {
        isRoot ? ["--mount"] : ["--mount", "--user", "--map-root-user"]
    }

    /// Mounts one at `path`, which must be an empty directory.
    package init(path: String, megabytes: Int) async throws {
        self.path = path
        isRoot = geteuid() == 0
        let script = "mount -t tmpfs -o size=\(megabytes)m,mode=700 none \"$0\" && echo mounted && exec sleep 3600"
        holder = try ChildProcess(Self.unshare, Self.options(isRoot: isRoot) + ["/bin/bash", "-c", script, path])
        guard await holder.output.first(containing: "mounted") != nil else {
            throw ChildProcessError("no small disk: \(holder.output.lines)")
        }
    }

    /// What to put in front of a program and its arguments so that it sees the disk. The process stays the same.
    package var command: [String] {
        ["/usr/bin/nsenter", "--target", String(holder.id), "--mount"]
            + (isRoot ? [] : ["--user", "--preserve-credentials"])
    }

    /// Where the test itself finds the disk.
    package var ownPath: String { "/proc/\(holder.id)/root\(path)" }

    /// Writes until not a byte is left.
    package func fill() throws {
        let file = ownPath + "/filler"
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        defer { close(handle) }
        for size in [1 << 16, 1 << 12, 1] {
            do {
                while true { try handle.write(contentsOf: Data(count: size)) }
            } catch {
                // Full for this size.
            }
        }
    }

    private func close(_ handle: FileHandle) {
        do {
            try handle.close()
        } catch {
            // Everything that was to be written is.
        }
    }

    /// Gives back what ``fill()`` took.
    package func free() throws {
        try FileManager.default.removeItem(atPath: ownPath + "/filler")
    }

    /// Mounts it again with other options; no file may be open for writing when it becomes read-only.
    package func remount(_ options: String) async throws {
        let arguments = command.dropFirst() + ["/bin/mount", "-o", "remount,\(options)", path]
        let result = try await ChildProcess.run(command[0], Array(arguments))
        guard result.status == 0 else { throw ChildProcessError("remount: \(result.lines)") }
    }

    deinit {
        holder.signal(SIGKILL)
    }
}
