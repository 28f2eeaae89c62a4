package import PushModel
package import Store

extension SQLStore {
    /// Sums over indexes that hold open work only, within one snapshot.
    package func backlog(of project: ProjectID) async throws(StoreError) -> [BacklogShare] {
        try await read { db in try ProjectBacklog(db: db, project: project).shares() }
    }
}

/// What is waiting of one project, within one snapshot: beside the writer, and without a look at what has ended.
struct ProjectBacklog {
    let db: any Database
    let project: ProjectID

    static let waiting = """
        SELECT p.lane, r.id, count(*) FROM route r CROSS JOIN pending p INDEXED BY pending_due
        WHERE r.project = ?1 AND p.lane IN (0, 1) AND p.route = r.id AND p.worker IS NULL AND p.is_held = 0
        GROUP BY r.id, p.lane
        """
    /// As many rows as pushes may be in flight.
    static let claimed = """
        SELECT p.lane, r.id, count(*) FROM pending p INDEXED BY pending_claimed CROSS JOIN route r ON r.id = p.route
        WHERE p.worker IS NOT NULL AND r.project = ?1 GROUP BY r.id, p.lane
        """
    static let claimedMessages = """
        SELECT m.lane, r.id, count(*) FROM message m INDEXED BY message_claimed CROSS JOIN route r ON r.id = m.route
        WHERE m.worker IS NOT NULL AND r.project = ?1 GROUP BY r.id, m.lane
        """
    static let paused = """
        SELECT p.lane, r.id, count(*) FROM message m INDEXED BY message_open CROSS JOIN pending p ON p.message = m.seq
        CROSS JOIN route r ON r.id = p.route
        WHERE m.project = ?1 AND m.state <> 'COMPLETE' AND m.state = 'PAUSED' AND p.worker IS NULL
        GROUP BY r.id, p.lane
        """
    /// A shard for one route is of that route's app; who the others are for is not known yet.
    static let unclaimed = """
        SELECT 1, f.only_route, sum(greatest(0, f.expected - f.claimed))
        FROM fan_out f INDEXED BY fan_out_open WHERE f.project = ?1 AND f.is_open = 1 GROUP BY 2
        """
    static let pausedUnclaimed = """
        SELECT 1, f.only_route, sum(greatest(0, f.expected - f.claimed))
        FROM message m INDEXED BY message_open CROSS JOIN fan_out f ON f.message = m.seq
        WHERE m.project = ?1 AND m.state <> 'COMPLETE' AND m.state = 'PAUSED' AND f.done = 0 GROUP BY 2
        """
    /// The pages that a worker has: as many recipients as pushes may be in flight.
    static let inPages = """
        SELECT 1, NULL, sum(p.open) FROM page p INDEXED BY page_claimed CROSS JOIN message m ON m.seq = p.message
        WHERE p.worker IS NOT NULL AND m.project = ?1
        """
    /// The pages that were given back: at most what was in flight when a process ended.
    static func released(isPaused: Bool) -> String {
        """
        SELECT 1, NULL, sum(p.open) FROM page p INDEXED BY page_released CROSS JOIN message m ON m.seq = p.message
        WHERE p.worker IS NULL AND m.project = ?1 AND m.state \(isPaused ? "=" : "<>") 'PAUSED'
        """
    }

    /// The shares that are not empty: by app and platform, those of no app last, the interactive lane first.
    func shares() throws -> [BacklogShare] {
        var shares: [Place: BacklogShare] = [:]
        for sql in [Self.waiting, Self.unclaimed, Self.released(isPaused: false)] {
            try add(sql, to: \.waiting, of: &shares)
        }
        for sql in [Self.claimed, Self.claimedMessages, Self.inPages] { try add(sql, to: \.inFlight, of: &shares) }
        for sql in [Self.paused, Self.pausedUnclaimed, Self.released(isPaused: true)] {
            try add(sql, to: \.paused, of: &shares)
        }
        return shares.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Where a share stands in the list.
    private struct Place: Hashable, Comparable {
        let app: AppKey?
        let lane: Int

        static func < (lhs: Place, rhs: Place) -> Bool {
            guard lhs.app != rhs.app else { return lhs.lane < rhs.lane }
            guard let app = lhs.app, let other = rhs.app else { return lhs.app != nil }
            return app < other
        }
    }

    /// The app of the route with this number: a project has few.
    private func app(_ route: Int64) throws -> AppKey {
        let route = try RouteTable(db: db).route(route)
        return AppKey(route.channel.platform, route.app)
    }

    private func add(
        _ sql: String, to count: WritableKeyPath<BacklogShare, Int>, of shares: inout [Place: BacklogShare]
    ) throws {
        let rows = try db.cursor(sql, [project.rawValue])
        while let row = try rows.next() {
            guard let found: Int = row[2], found > 0 else { continue }
            let place = Place(app: try (row[1] as Int64?).map(app), lane: row[0])
            var share = shares[place] ?? BacklogShare(lane: Lane(code: place.lane), app: place.app)
            share[keyPath: count] += found
            shares[place] = share
        }
    }
}
