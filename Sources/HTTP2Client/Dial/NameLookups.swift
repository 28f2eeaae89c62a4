import Synchronization

/// Looks names up, a few at a time: the system's lookup blocks, for half a minute when the name server does not answer, and
/// each of a thousand origins may be dialed.
///
/// What waits for a turn is bounded by the dials that are under way, and is given up when its dial is out of time.
///
/// Lifecycle: threads start with the first lookup and end after ``stop()``.
final class NameLookups: Sendable {
    /// The most that are under way at a time.
    static let limit = 8

    private let resolve: Resolve
    private let isStopping = Atomic(false)
    private let threads = WorkerThreads(named: "h2-resolver", count: NameLookups.limit)

    init(_ resolve: @escaping Resolve) {
        self.resolve = resolve
    }

    /// Looks up the addresses of a name and calls `body` with them, once, on any thread.
    ///
    /// - Parameter deadline: after it no dial waits for the answer any more.
    func addresses(
        of host: String, port: Int, by deadline: Instant,
        _ body: @escaping @Sendable (Result<[SocketAddress], TransportFailure>) -> Void
    ) {
        let isTaken = threads.append { [self] in
            guard !isStopping.load(ordering: .relaxed), Instant.now() < deadline else {
                return body(
                    .failure(TransportFailure(.connectFailed, "name lookup of \(host): its turn did not come in time")))
            }
            body(resolve(host, port))
        }
        if !isTaken { body(.failure(TransportFailure(.connectFailed, "name lookup of \(host): no thread"))) }
    }

    /// Ends the threads as soon as their lookups are over; what waits for a turn fails then. Does not wait.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        threads.stop()
    }
}
