import Store
import Synchronization

/// What writes found wrong with the database.
final class PostgresHealth: Sendable {
    /// So long a failed write counts, though a small one goes through.
    private static let memory: Duration = .seconds(3)

    /// The last write that failed as any would.
    private let failedWrite = Mutex<(text: String, at: ContinuousClock.Instant)?>(nil)

    /// Remembers what an error says of the whole database.
    ///
    /// - Returns: the error.
    func note(_ error: StoreError, isWrite: Bool) -> StoreError {
        if isWrite, error.isOfWholeStore, !error.isFull { failedWrite.withLock { $0 = (error.message, .now) } }
        return error
    }

    /// How the database is.
    ///
    /// - Parameter probe: what a small write failed with right now; `nil`: it went through.
    func state(_ probe: StoreError?) -> StoreState {
        if let probe { return StoreState(isWritable: false, problems: [probe.message]) }
        guard let failed = failedWrite.withLock({ $0 }), .now - failed.at < Self.memory else { return StoreState() }
        return StoreState(isWritable: false, problems: [failed.text])
    }
}
