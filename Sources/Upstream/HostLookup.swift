import HTTP2Client
package import IPAddresses
import Synchronization

/// Looks up names for callers that connect themselves. A look-up can block for as long as name servers take: each has a
/// thread, and who does not want to wait longer is cancelled and goes.
package final class HostLookup: Sendable {
    /// Why a name has no address.
    package struct Failure: Error, Hashable, Sendable {
        /// In words.
        package let message: String
    }

    fileprivate typealias Answer = Result<[IPAddress], Failure>

    private let threads: WorkerThreads

    /// Prepares a look-up; threads start with the first name.
    ///
    /// - Parameter count: names that are looked up at a time.
    package init(threads count: Int = 16) {
        threads = WorkerThreads(named: "name-lookup", count: count)
    }

    /// The addresses of a name, asked anew.
    package func addresses(of host: String) async -> Result<[IPAddress], Failure> {
        let waiter = LookupWaiter()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.begin(continuation)
                // Work for which no task waits: the one that asked may have gone.
                Task { [threads] in waiter.end(await threads.run { Self.lookUp(host) }) }
                if Task.isCancelled { waiter.cancel() }
            }
        } onCancel: {
            waiter.cancel()
        }
    }

    private static func lookUp(_ host: String) -> Answer {
        NameLookup.addresses(of: host).mapError { Failure(message: $0.message) }
    }
}

/// Who waits for a look-up: goes on once, with the answer or without.
private final class LookupWaiter: Sendable {
    private let continuation = Mutex<CheckedContinuation<HostLookup.Answer, Never>?>(nil)

    func begin(_ continuation: CheckedContinuation<HostLookup.Answer, Never>) {
        self.continuation.withLock { $0 = continuation }
    }

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
