import HTTP2Client
package import IPAddresses
package import PushModel
import Synchronization

/// Looks up names for callers that connect themselves. A look-up can block for as long as name servers take: each has a
/// thread, and who does not want to wait longer is cancelled and goes.
///
/// A thread is busy until its look-up ends, also when its caller has gone. So each project has a few of them at a time, and
/// names of one project whose name servers are silent leave threads for the others; what goes beyond waits for its project's own.
package final class HostLookup: Sendable {
    /// Why a name has no address.
    package struct Failure: Error, Hashable, Sendable {
        /// In words.
        package let message: String
    }

    /// What came of a look-up.
    package typealias Answer = Result<[IPAddress], Failure>

    /// The look-ups of a project.
    private struct Queue {
        var running = 0
        var waiting: [(host: String, waiter: LookupWaiter)] = []
    }

    private let threads: WorkerThreads
    private let limit: Int
    private let resolve: @Sendable (String) -> Answer
    private let queues = Mutex<[ProjectID: Queue]>([:])

    /// Prepares a look-up; threads start with the first name.
    ///
    /// - Parameters:
    ///   - count: names that are looked up at a time.
    ///   - limit: of these, names of one project.
    ///   - resolve: the addresses of a name; may block.
    package init(
        threads count: Int = 16, perProject limit: Int = 4,
        resolve: @escaping @Sendable (_ host: String) -> Answer = HostLookup.system
    ) {
        threads = WorkerThreads(named: "name-lookup", count: count)
        self.limit = limit
        self.resolve = resolve
    }

    /// What the system knows of a name. Blocks.
    package static func system(_ host: String) -> Answer {
        NameLookup.addresses(of: host).mapError { Failure(message: $0.message) }
    }

    /// The addresses of a name, asked anew.
    package func addresses(of host: String, for project: ProjectID) async -> Answer {
        let waiter = LookupWaiter()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.begin(continuation)
                enter(host, waiter, of: project)
                if Task.isCancelled { waiter.cancel() }
            }
        } onCancel: {
            waiter.cancel()
        }
    }

    private func enter(_ host: String, _ waiter: LookupWaiter, of project: ProjectID) {
        let hasRoom = queues.withLock { queues in
            var queue = queues[project, default: Queue()]
            defer { queues[project] = queue }
            if queue.running < limit {
                queue.running += 1
                return true
            }
            // Those that have gone need no answer: as many wait as there are callers.
            queue.waiting.removeAll { !$0.waiter.isWaiting }
            queue.waiting.append((host, waiter))
            return false
        }
        if hasRoom { start(host, waiter, of: project) }
    }

    private func start(_ host: String, _ waiter: LookupWaiter, of project: ProjectID) {
        // Work for which no task waits: the one that asked may have gone.
        Task { [self] in
            waiter.end(await threads.run { [resolve] in resolve(host) })
            if let next = next(of: project) { start(next.host, next.waiter, of: project) }
        }
    }

    /// A look-up has ended: the next one of its project.
    private func next(of project: ProjectID) -> (host: String, waiter: LookupWaiter)? {
        queues.withLock { queues in
            var queue = queues[project, default: Queue()]
            queue.waiting.removeAll { !$0.waiter.isWaiting }
            guard !queue.waiting.isEmpty else {
                queue.running -= 1
                queues[project] = queue.running > 0 ? queue : nil
                return nil
            }
            let next = queue.waiting.removeFirst()
            queues[project] = queue
            return next
        }
    }
}

/// Who waits for a look-up: goes on once, with the answer or without.
private final class LookupWaiter: Sendable {
    private let continuation = Mutex<CheckedContinuation<HostLookup.Answer, Never>?>(nil)

    func begin(_ continuation: CheckedContinuation<HostLookup.Answer, Never>) {
        self.continuation.withLock { $0 = continuation }
    }

    /// Whether it has neither an answer nor gone.
    var isWaiting: Bool { continuation.withLock { $0 != nil } }

    func end(_ answer: HostLookup.Answer) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: answer)
    }

    func cancel() {
        end(.failure(HostLookup.Failure(message: "The time was over before the name was looked up.")))
    }
}
