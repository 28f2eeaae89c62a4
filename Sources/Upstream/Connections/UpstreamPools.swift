import HTTP2Client
import PushModel
import Synchronization

/// The pools of one upstream: one for proven device tokens and one for suspects, so that a refused suspect narrows no
/// connection of the others. ``ConnectionBudget`` says how many connections each may have.
final class UpstreamPools: Sendable {
    /// The part of a batch that takes the same pool.
    struct Part: Sendable {
        let pool: any RequestPool
        var indices: [Int]
    }

    private let proven: any RequestPool
    /// `nil`: there is one connection only, for all.
    private let suspects: (any RequestPool)?
    private let budget: Mutex<ConnectionBudget?>
    /// The most requests that wait in one queue of one pool.
    let queueLimit: Int

    /// Opens both pools; nothing is dialed.
    init(_ configuration: PoolConfiguration, transport: any RequestTransport) throws(TransportFailure) {
        proven = try transport.openPool(configuration)
        queueLimit = configuration.queueLimit
        guard configuration.connectionLimit >= 2 else {
            suspects = nil
            budget = Mutex(nil)
            return
        }
        // If this fails, the first pool stays with the transport, without a connection.
        var beside = configuration
        beside.isBesideLast = true
        suspects = try transport.openPool(beside)
        budget = Mutex(ConnectionBudget(limit: configuration.connectionLimit))
    }

    /// Divides the pushes of `batch` at `indices` among the pools, and the connections with them.
    func parts(of indices: [Int], in batch: [Push], at now: Timestamp) -> [Part] {
        guard let suspects else { return [Part(pool: proven, indices: indices)] }
        let isSuspect = indices.filter { !batch[$0].isProven }
        let isProven = isSuspect.count == indices.count ? [] : indices.filter { batch[$0].isProven }
        // The limits are set under the lock, so that the last division is the one in force; it only posts to the loops.
        budget.withLock { budget in
            apply(budget?.note(hasProven: !isProven.isEmpty, hasSuspects: !isSuspect.isEmpty, at: now))
        }
        return [Part(pool: proven, indices: isProven), Part(pool: suspects, indices: isSuspect)]
            .filter { !$0.indices.isEmpty }
    }

    /// So many gateways share the limit of connections from now on.
    func divide(among nodes: Int, at now: Timestamp) {
        budget.withLock { budget in apply(budget?.divide(among: nodes, at: now)) }
    }

    private func apply(_ division: ConnectionBudget.Division?) {
        guard let division else { return }
        proven.setConnectionLimit(division.proven)
        suspects?.setConnectionLimit(division.suspects)
    }

    private var all: [any RequestPool] { [proven] + (suspects.map { [$0] } ?? []) }

    /// As ``ConnectionPool/close(within:)``, all at the same time.
    func close(within limit: Duration) async {
        await withDiscardingTaskGroup { tasks in
            for pool in all { tasks.addTask { await pool.close(within: limit) } }
        }
    }

    /// As ``ConnectionPool/recycleConnections()``.
    func recycleConnections() {
        for pool in all { pool.recycleConnections() }
    }

    /// Has requests carry this token as of when their streams are opened, so that no connection sees an earlier one
    /// after a later one (Apple counts that as an update).
    ///
    /// - Parameter isNewSeries: the present connections must not see it: they are replaced.
    func use(_ token: AuthorizationToken, isNewSeries: Bool) {
        let field = HeaderField("authorization", token.authorization, indexing: .never)
        for pool in all {
            // In this order, in which the pool takes them too.
            if isNewSeries { pool.recycleConnections() }
            pool.setFields([field])
        }
    }

    /// As ``ConnectionPool/windDown()``.
    func windDown() {
        for pool in all { pool.windDown() }
    }

    /// As ``ConnectionPool/reconsider()``.
    func reconsider() {
        for pool in all { pool.reconsider() }
    }

    /// The sum over the pools.
    var statistics: PoolStatistics {
        var sum = proven.statistics
        if let suspects { sum.add(suspects.statistics) }
        return sum
    }

    /// How many pools there are, each with a queue of its own.
    var count: Int { all.count }
}
