import NIOCore

/// Runs tasks on an event loop.
///
/// A connection's tasks run on its own loop: bytes that came in, the request, its answer and the bytes that leave change
/// no thread in between. What takes more than some tens of microseconds of computing belongs on the global executor
/// (`withTaskExecutorPreference(globalConcurrentExecutor)`), because all connections of the loop wait for it.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    /// Runs on `loop`, which must not shut down before the tasks ended.
    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
