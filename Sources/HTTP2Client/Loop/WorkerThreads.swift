import CLinux
import DequeModule
import Dispatch
import Glibc
import Synchronization

/// Threads for work that would hold up a loop, or the few threads of the concurrency runtime.
///
/// Work is done in the order in which it came. The queue is bounded by its callers: each waits for what it asked for.
///
/// Lifecycle: the threads start with the first work and end in ``shutdown()``. Work that comes later, or when no thread
/// can be started, is done on the thread of the caller.
package final class WorkerThreads: Sendable {
    private struct State {
        var queue: Deque<@Sendable () -> Void> = []
        /// Threads that were started and have not ended.
        var running = 0
        var isStarted = false
        var isStopping = false
    }

    private let name: String
    private let count: Int
    private let isBackground: Bool
    private let state = Mutex(State())
    /// One signal for each entry of the queue, and at the end for each thread.
    private let signals = DispatchSemaphore(value: 0)
    private let ended = Latch()

    /// Prepares threads.
    ///
    /// - Parameters:
    ///   - name: for ps and debuggers; the kernel keeps 15 bytes.
    ///   - count: how many, at least 1; `nil`: as many as there are processors.
    ///   - isBackground: whether the kernel prefers the process's other threads to these.
    package init(named name: String, count: Int? = nil, isBackground: Bool = false) {
        self.name = name
        self.count = max(1, count ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        self.isBackground = isBackground
    }

    /// Does `work` on one of the threads, behind everything that came before.
    ///
    /// Cancelling the task does not cut the wait short.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let entry: @Sendable () -> Void = { continuation.resume(returning: work()) }
            if !append(entry) { entry() }
        }
    }

    /// How much waits for a thread.
    var queued: Int { state.withLock { $0.queue.count } }

    /// Does what waits, then ends the threads. Idempotent.
    package func shutdown() async {
        stop()
        await ended.wait()
    }

    /// As ``shutdown()``, without waiting for it.
    func stop() {
        let running = state.withLock { state in
            defer { state.isStopping = true }
            return state.isStopping ? nil : state.running
        }
        if running == 0 { ended.open() }
        for _ in 0..<(running ?? 0) { signals.signal() }
    }

    /// Adds work for which no task waits.
    ///
    /// - Returns: whether a thread will do it.
    func append(_ entry: @escaping @Sendable () -> Void) -> Bool {
        let isAppended = state.withLock { state in
            guard !state.isStopping else { return false }
            if !state.isStarted {
                state.isStarted = true
                for _ in 0..<count where start() { state.running += 1 }
            }
            guard state.running > 0 else { return false }
            state.queue.append(entry)
            return true
        }
        if isAppended { signals.signal() }
        return isAppended
    }

    private func start() -> Bool {
        do throws(TransportFailure) {
            try startThread(named: name) { [self] in work() }
            return true
        } catch {
            // Fewer threads do it too, and without any the callers do.
            return false
        }
    }

    private func work() {
        if isBackground { herald_lower_priority_of_thread() }
        while true {
            signals.wait()
            guard let entry = state.withLock({ $0.queue.popFirst() }) else { break }
            entry()
        }
        let isLast = state.withLock { state in
            state.running -= 1
            return state.running == 0
        }
        if isLast { ended.open() }
    }
}
