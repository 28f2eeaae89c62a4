public import Logging
public import PushModel
public import ServiceLifecycle
public import Store

/// The limits of queues and batches (`limits.*` of the configuration).
public struct DeliveryLimits: Sendable {
    /// Messages that may be active; beyond it new ones are refused with 429.
    public var activeMessages = 100_000
    /// Recipients claimed in one step of a fan-out.
    public var pageSize = 1000
    /// Pushes handed to the upstream and not yet settled, for each lane.
    public var inFlight = 10_000
    /// How long a stopping gateway waits for answers.
    public var shutdown: Duration = .seconds(20)

    /// The defaults.
    public init() {}
}

/// Moves accepted messages to the upstream and the answers into the ledger: claims, sends, settles, retries, expires.
///
/// Runs until graceful shutdown, then stops claiming, waits for what is in flight and settles it.
public final class DeliveryRunner: Service {
    /// Prepares a runner; nothing starts before ``run()``.
    public init(
        store: any MessageStore & DeliveryStore, sender: any PushSender, projects: ProjectDirectory,
        limits: DeliveryLimits, clock: any Clock<Duration>, wallTime: @escaping WallTime,
        random: @escaping @Sendable () -> Double, logger: Logger
    ) {
        fatalError("pending")
    }

    /// Tells the runner that a lane has new work. Cheap; from any thread.
    public func wake(_ lane: Lane) {
        fatalError("pending")
    }

    /// Rescues what an earlier run left, then works until graceful shutdown.
    public func run() async throws {
        fatalError("pending")
    }
}
