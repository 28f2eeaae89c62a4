import Dispatch
import Synchronization

/// Runs tasks on threads of its own and counts the jobs that run or wait for a thread, so that a test can await the
/// moment when all of its tasks wait for something. Jobs of other tests, thousands of them, do not hold these up.
///
/// Only child tasks inherit the executor: what the code under test starts with `Task { }` is not counted.
final class CountingExecutor: TaskExecutor {
    private struct State {
        var jobs = 0
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "code under test", qos: .userInitiated, attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs += 1 }
        queue.async {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.end()
        }
    }

    private func end() {
        let watchers = state.withLock { state in
            state.jobs -= 1
            guard state.jobs == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in watchers { watcher.resume() }
    }

    /// Waits until no job runs or waits for a thread.
    func untilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.jobs > 0 { state.watchers.append(continuation) }
                return state.jobs == 0
            }
            if isIdle { continuation.resume() }
        }
    }
}
