// What the connections of a pool are together. Nothing here changes what a connection does.
extension [Connection] {
    /// There is a proven one, and the peers of all proven ones have let a PING wait.
    var areSilent: Bool {
        var silent = 0
        for connection in self where connection.isProven && !connection.isDraining {
            guard connection.isSilent else { return false }
            silent += 1
        }
        return silent > 0
    }

    /// Counts them for the dial plan.
    ///
    /// - Parameter freeStreams: what a connection has for the requests that wait.
    func count(into demand: inout DialPlan.Demand, freeStreams: (Connection) -> Int) {
        for connection in self where !connection.isDraining {
            demand.freeStreams += freeStreams(connection)
            if connection.isConnecting || connection.isWarming {
                demand.starting += 1
                continue
            }
            if connection.isSilent {
                demand.silent += 1
            } else if connection.awaitsPong {
                demand.doubtful += 1
            } else {
                demand.proven += 1
            }
            demand.streamsPerConnection = Swift.max(demand.streamsPerConnection, connection.capacity)
        }
    }

    /// Notes since when each is narrow.
    ///
    /// - Returns: the one that has been so the longest.
    func noteNarrow(at now: Instant) -> Connection? {
        var narrowest: Connection?
        for connection in self {
            connection.narrowSince = connection.isNarrow ? connection.narrowSince ?? now : nil
            guard let since = connection.narrowSince else { continue }
            if narrowest?.narrowSince.map({ since < $0 }) ?? true { narrowest = connection }
        }
        return narrowest
    }

    /// Those beyond `limit`: what does not answer first, then what has yet to prove itself, then what has the least to do.
    func surplus(of limit: Int) -> ArraySlice<Connection> {
        let taking = filter { !$0.isDraining }
        func value(_ connection: Connection) -> (Int, Int) {
            (connection.isSilent ? 0 : connection.isProven ? 2 : 1, connection.openStreams)
        }
        return taking.sorted(by: { value($0) < value($1) }).prefix(Swift.max(0, taking.count - limit))
    }
}
