import Glibc
import Synchronization
import TestSupport

@testable import HTTP2Client

/// A program beside the test: started, fed, read and ended without Foundation's Process, whose pipes are inherited by
/// every other child and whose event sources do not stand that.
final class ChildProcess: Sendable {
    /// Nothing for a process that was waited for.
    private let identifier: Mutex<pid_t?>
    /// Our end of the socket that is its standard input and output; -1: none.
    private let link: Int32

    /// Starts `path`. Unless it is `linked`, it reads and writes /dev/null.
    init(_ path: String, _ arguments: [String], linked: Bool = false) throws {
        let link = linked ? try Self.makeLink() : (ours: -1, theirs: -1)
        defer { if linked { close(link.theirs) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if linked {
            unsafe posix_spawn_file_actions_adddup2(&actions, link.theirs, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, link.theirs, 1)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        }
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        keepSocketsFromChildren()
        var identifier = pid_t()
        var strings = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe strings.forEach { unsafe free($0) } }
        let code = unsafe posix_spawn(&identifier, path, &actions, nil, &strings, environ)
        guard code == 0 else { throw ToolFailure(what: "\(path): error \(code)") }
        self.identifier = Mutex(identifier)
        self.link = link.ours
    }

    private static func makeLink() throws -> (ours: Int32, theirs: Int32) {
        var ends: [Int32] = [-1, -1]
        // Close on exec: another child must not hold our end open.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw ToolFailure(what: "socketpair") }
        return (ends[0], ends[1])
    }

    /// Writes to its standard input.
    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(link, $0.baseAddress, $0.count, Socket.withoutSignal)
            }
            guard count > 0 else { throw ToolFailure(what: "write to the program: error \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits for its output; empty: it ended.
    func read() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe Glibc.read(link, &buffer, buffer.count)
        return Array(buffer.prefix(max(0, count)))
    }

    /// Waits until it ends by itself; its exit status, or -1.
    func wait() -> Int32 {
        identifier.withLock { identifier in
            guard let process = identifier else { return -1 }
            var status: Int32 = 0
            unsafe waitpid(process, &status, 0)
            identifier = nil
            return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
        }
    }

    /// Whether it still runs.
    var isRunning: Bool {
        identifier.withLock { identifier in
            guard let process = identifier else { return false }
            var status: Int32 = 0
            if unsafe waitpid(process, &status, WNOHANG) != 0 { identifier = nil }
            return identifier != nil
        }
    }

    /// Ends it without a farewell.
    func kill() {
        identifier.withLock { identifier in
            guard let process = identifier else { return }
            Glibc.kill(process, SIGKILL)
            var status: Int32 = 0
            unsafe waitpid(process, &status, 0)
            identifier = nil
        }
    }

    deinit {
        kill()
        if link >= 0 { close(link) }
    }
}
