import Dispatch
import Synchronization

/// Runs `body` to its end, on the concurrency runtime's threads, while this one waits.
///
/// The bridge between `main` and everything else. An asynchronous `main` would do, but it ends the main thread, which
/// valgrind does not survive.
func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
    let failure = FirstError()
    let done = DispatchSemaphore(value: 0)
    Task {
        do {
            try await body()
        } catch {
            failure.note(error)
        }
        done.signal()
    }
    done.wait()
    if let error = failure.error { throw error }
}

private final class FirstError: Sendable {
    private let state = Mutex<(any Error)?>(nil)
    var error: (any Error)? { state.withLock { $0 } }

    func note(_ error: any Error) {
        state.withLock { $0 = $0 ?? error }
    }
}
