/// What a pool has counted since it was opened.
struct PoolCounts {
    var dials = 0
    var failedDials = 0
    var goAways = GoAwayCounts()
    var resumed = 0
    /// By connections that are gone.
    var bytesSent: Int64 = 0

    /// The figures of a pool with these connections; nothing about its circuit.
    func statistics(with connections: [Connection]) -> PoolStatistics {
        var statistics = PoolStatistics()
        for connection in connections where !connection.isConnecting {
            statistics.connections += 1
            statistics.streamsInUse += connection.openStreams
            statistics.streamLimit += connection.capacity
            if connection.isProven, !connection.isDraining { statistics.workingConnections += 1 }
        }
        statistics.dials = dials
        statistics.failedDials = failedDials
        statistics.goAways = goAways.total
        statistics.goAwaysByReason = goAways.counts
        statistics.resumed = resumed
        statistics.bytesSent = connections.reduce(bytesSent) { $0 + $1.bytesSent }
        return statistics
    }
}
