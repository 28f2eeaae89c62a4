import Logging
import PushModel
import Store
import Synchronization

/// Writes down when routes are paused and when they go on.
///
/// A pause is what is tried with one push at a time; an upstream that is being dialed, or is slow, is none. What changes
/// back within the rest after a note is not written. What is paused when the process ends, or when its worker is taken
/// over, goes on with the takeover: a new worker notes what is paused then.
final class RouteNotifier: Sendable {
    private static let retryPause: Duration = .seconds(1)

    private let store: any EventStore
    private let lease: WorkerLease
    private let rest: Duration
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let logger: Logger
    /// Whether their credentials are refused.
    private let paused = Mutex<[PushRoute: Bool]>([:])
    private let changed = AutoResetEvent()

    /// - Parameters:
    ///   - lease: as which worker it notes; without one it waits for ``enrolled()``.
    ///   - rest: ``DeliveryLimits/noticeRest``.
    init(
        store: any EventStore, lease: WorkerLease, rest: Duration, clock: any Clock<Duration>,
        wallTime: @escaping WallTime, logger: Logger
    ) {
        self.store = store
        self.lease = lease
        self.rest = rest
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
    }

    /// The routes that the sender holds now. Cheap; from any thread.
    func hold(_ routes: [PushRoute: HeldRoute]) {
        let now = routes.filter { $0.value.limit == 1 && !$0.value.isBulkOnly }.mapValues(\.isOfCredential)
        let isChanged = paused.withLock { paused in
            defer { paused = now }
            return paused != now
        }
        if isChanged { changed.raise() }
    }

    /// There is a new worker.
    func enrolled() {
        changed.raise()
    }

    /// What is in one and not the same in the other.
    private static func notices(
        _ routes: [PushRoute: Bool], without others: [PushRoute: Bool], isPaused: Bool
    ) -> [RouteNotice] {
        routes.filter { others[$0.key] != $0.value }
            .map { RouteNotice($0.key, isPaused: isPaused, isOfCredential: $0.value) }
    }

    /// Writes what changes until the task is cancelled. A note that fails is tried again after ``retryPause``.
    func run() async {
        var (noted, notedBy): ([PushRoute: Bool], WorkerID?) = ([:], nil)
        while !Task.isCancelled {
            await changed.wait()
            guard !Task.isCancelled, let worker = lease.worker else { continue }
            if worker != notedBy { (noted, notedBy) = ([:], worker) }
            let now = paused.withLock { $0 }
            let notices =
                Self.notices(noted, without: now, isPaused: false) + Self.notices(now, without: noted, isPaused: true)
            guard !notices.isEmpty else { continue }
            do throws(StoreError) {
                try await store.note(notices, by: worker, at: wallTime())
                noted = now
            } catch {
                logger.warning("pauses of routes can't be noted", metadata: ["error": "\(error)"])
                changed.raise()
                await clock.pause(Self.retryPause)
            }
            if rest > .zero { await clock.pause(rest) }
        }
    }
}
