import Foundation
import Glibc
import Synchronization

/// A program run beside the test: its lines can be waited for, it can be killed, its end is seen at once.
///
/// Foundation's `Process` is of no use here: its `waitUntilExit` spins off the main thread, and when two tests start
/// programs at the same time, one inherits the other's descriptor and hides its end.
package final class ChildProcess: Sendable {
    /// Standard output and standard error, line by line.
    package let output: OutputLines
    /// Its process id.
    package let id: Int32

    /// Starts `executable` with `arguments`; both outputs go to ``output``.
    ///
    /// - Parameters:
    ///   - environment: the whole environment of the program.
    ///   - keepsErrors: whether standard error goes to ``output`` too, or nowhere.
    /// - Throws: ``ChildProcessError`` when it can't be started.
    package init(
        _ executable: String, _ arguments: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment, keepsErrors: Bool = true
    ) throws {
        var ends: [CInt] = [0, 0]
        // A socket and not a pipe: only it can be made close-on-exec in one step.
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw ChildProcessError("socketpair: \(errno)") }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        if keepsErrors {
            unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        keepSocketsFromChildren()
        let argumentList = unsafe ([executable] + arguments).map { unsafe strdup($0) } + [nil]
        let environmentList = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            unsafe (argumentList + environmentList).forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        let result = unsafe posix_spawn(&process, executable, &actions, nil, argumentList, environmentList)
        close(ends[1])
        guard result == 0 else {
            close(ends[0])
            throw ChildProcessError("\(executable): error \(result)")
        }
        let lines = OutputLines()
        let (id, descriptor) = (process, ends[0])
        self.id = id
        self.output = lines
        let thread = Thread { Self.follow(id, descriptor, lines) }
        thread.name = "child \(id)"
        thread.start()
    }

    /// Runs a program to its end.
    ///
    /// - Returns: its exit status (negative for the signal that ended it) and its lines.
    package static func run(
        _ executable: String, _ arguments: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment, keepsErrors: Bool = true
    ) async throws -> (status: Int32, lines: [String]) {
        let process = try ChildProcess(executable, arguments, environment: environment, keepsErrors: keepsErrors)
        return (await process.status(), process.output.lines)
    }

    /// Sends a signal, unless it ended already.
    package func signal(_ signal: Int32) {
        output.whileRunning { _ = kill(id, signal) }
    }

    /// Waits for its end: the exit status, negative for the signal that ended it.
    ///
    /// A task that is cancelled, as that of a test beyond its time limit, kills the program: it waits for no answer forever.
    package func status() async -> Int32 {
        await withTaskCancellationHandler {
            await output.status()
        } onCancel: {
            signal(SIGKILL)
        }
    }

    deinit {
        signal(SIGKILL)
    }

    /// Reads to the end of the output, then waits for the end of the process.
    private static func follow(_ id: pid_t, _ descriptor: CInt, _ lines: OutputLines) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            lines.take(buffer[..<count])
        }
        close(descriptor)
        // It may have closed its output and go on: signals to it need the lock meanwhile.
        var end = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(id), &end, CInt(WEXITED) | CInt(WNOWAIT)) < 0, errno == EINTR {}
        lines.finish {
            var status: CInt = 0
            while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
            return status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
        }
    }
}

/// Marks every descriptor of this process as closed in the programs that it starts. Listening sockets of simulators would
/// stay open there, and connecting to one that was closed here would hang instead of fail.
///
/// A descriptor that is opened between this and the start of the program is inherited all the same; that is rare, and harms no more
/// than the descriptors did before.
package func keepSocketsFromChildren() {
    for descriptor in CInt(3)..<1024 where fcntl(descriptor, F_GETFD) == 0 {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
}

/// Why a program could not be started.
package struct ChildProcessError: Error, CustomStringConvertible {
    /// The reason.
    package let description: String

    /// Takes the reason.
    package init(_ description: String) {
        self.description = description
    }
}

/// The lines of a program's output, kept, with waiters for one that contains a text, and for the program's end.
package final class OutputLines: Sendable {
    private struct LineWaiter {
        let number: Int
        let text: String
        let continuation: CheckedContinuation<String?, Never>
    }

    private struct State {
        var lines: [String] = []
        var rest: [UInt8] = []
        var status: Int32?
        var lineWaiters: [LineWaiter] = []
        var lastWaiter = 0
        var statusWaiters: [CheckedContinuation<Int32, Never>] = []
    }

    private let state = Mutex(State())

    /// What came so far.
    package var lines: [String] { state.withLock { $0.lines } }

    /// The first line, past or future, that contains `text`; `nil` when the program ended without one, or the task was
    /// cancelled.
    package func first(containing text: String) async -> String? {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let found: String?? = state.withLock { state in
                    if let line = state.lines.first(where: { $0.contains(text) }) { return .some(line) }
                    if state.status != nil || Task.isCancelled { return .some(nil) }
                    state.lineWaiters.append(LineWaiter(number: number, text: text, continuation: continuation))
                    return nil
                }
                if let found { continuation.resume(returning: found) }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { state in
            state.lineWaiters.firstIndex { $0.number == number }.map { state.lineWaiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: nil)
    }

    func status() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state in
                if state.status == nil { state.statusWaiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// Runs `body` unless the program was waited for: its id is its own until then.
    func whileRunning(_ body: () -> Void) {
        state.withLock { if $0.status == nil { body() } }
    }

    func take(_ bytes: ArraySlice<UInt8>) {
        let found = state.withLock { state in
            state.rest += bytes
            var fresh: [String] = []
            while let end = state.rest.firstIndex(of: UInt8(ascii: "\n")) {
                fresh.append(String(decoding: state.rest[..<end], as: UTF8.self))
                state.rest.removeSubrange(...end)
            }
            return Self.add(fresh, to: &state)
        }
        for (continuation, line) in found { continuation.resume(returning: line) }
    }

    func finish(_ wait: () -> Int32) {
        let (found, lost, waiters, status) = state.withLock { state in
            let found = Self.add(
                state.rest.isEmpty ? [] : [String(decoding: state.rest, as: UTF8.self)], to: &state)
            let status = wait()
            state.status = status
            defer { (state.lineWaiters, state.statusWaiters) = ([], []) }
            return (found, state.lineWaiters.map(\.continuation), state.statusWaiters, status)
        }
        for (continuation, line) in found { continuation.resume(returning: line) }
        for continuation in lost { continuation.resume(returning: nil) }
        for continuation in waiters { continuation.resume(returning: status) }
    }

    private static func add(
        _ fresh: [String], to state: inout State
    ) -> [(CheckedContinuation<String?, Never>, String)] {
        state.lines += fresh
        var found: [(CheckedContinuation<String?, Never>, String)] = []
        state.lineWaiters.removeAll { waiter in
            guard let line = fresh.first(where: { $0.contains(waiter.text) }) else { return false }
            found.append((waiter.continuation, line))
            return true
        }
        return found
    }
}
