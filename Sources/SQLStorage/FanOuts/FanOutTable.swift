import PushModel
import Store

/// Fan-outs and their pages within one transaction.
struct FanOutTable {
    let db: any Database

    /// What a shard has to claim, as one snapshot shows it.
    enum Offer {
        /// No recipients. `isDone`: and none will follow.
        case nothing(isDone: Bool)
        /// A page that was given back.
        case released(ReleasedPage)
        /// What comes after the cursor.
        case next(Shard, Candidates)
    }

    /// A page that was given back, with what is still open of it.
    struct ReleasedPage {
        let id: FanOutPage.ID
        let shard: Shard
        let interruptions: Int
        let registrations: [DeliveryRegistration]
        /// Keys beyond the limit of the claim: a page of their own.
        let rest: [Int64]
        /// Keys whose registrations were purged meanwhile.
        let purged: [Int64]
        /// The newest change of a registration that the snapshot shows.
        let changes: Int64
    }

    static let nextProject = """
        SELECT project FROM fan_out INDEXED BY fan_out_open
        WHERE is_open = 1 AND project > ? ORDER BY project LIMIT 1
        """
    // ?3: the numbers of the routes that are held.
    private static let isOffered = """
        (f.only_route IS NULL OR f.only_route NOT IN (SELECT value FROM numbers(?3)))
        """
    static let nextMessage = next()
    /// The next one of which a node has shards; ?4 and ?5: see ``ShardShare``.
    static let nextOwnMessage = next(
        "AND ((f.message + f.shard) % ?4 = ?5 OR m.rate IS NOT NULL OR m.finish_by IS NOT NULL)")
    private static func next(_ filter: String = "") -> String {
        """
        SELECT f.message, m.id, m.rate, m.finish_by, m.audience
        FROM fan_out f INDEXED BY fan_out_open CROSS JOIN message m ON m.seq = f.message
        WHERE f.project = ?1 AND f.is_open = 1 AND f.message > ?2 AND \(isOffered) \(filter)
        ORDER BY f.message LIMIT 1
        """
    }
    // ?5 and ?6: see ``ShardShare``.
    static let shardsOfMessage = """
        SELECT f.shard, f.only_route, f.after_key FROM fan_out f INDEXED BY fan_out_open
        WHERE f.project = ?1 AND f.message = ?2 AND f.is_open = 1 AND \(isOffered) AND (?2 + f.shard) % ?5 = ?6
        ORDER BY f.shard LIMIT ?4
        """
    /// From the end: a node works on the first of its shards.
    static let shardsOfOthers = """
        SELECT f.shard, f.only_route, f.after_key FROM fan_out f INDEXED BY fan_out_open
        WHERE f.project = ?1 AND f.message = ?2 AND f.is_open = 1 AND \(isOffered)
        ORDER BY f.shard DESC LIMIT ?4
        """
    static let oldestOfRoute = """
        SELECT f.message, m.id, m.rate, m.finish_by, m.audience, f.shard, f.only_route, f.after_key
        FROM fan_out f INDEXED BY fan_out_open CROSS JOIN message m ON m.seq = f.message
        WHERE f.project = ? AND f.is_open = 1 AND f.only_route = ? ORDER BY f.message, f.shard LIMIT 1
        """
    static let claimed = "SELECT sum(claimed) FROM fan_out WHERE message = ?"
    static let released = """
        SELECT id, interruptions, settled, keys FROM page INDEXED BY page_released
        WHERE message = ? AND shard = ? AND worker IS NULL ORDER BY id LIMIT 1
        """
    static let claimPage = "UPDATE page SET worker = ? WHERE id = ? AND worker IS NULL AND interruptions = ?"
    static let moveCursor = """
        UPDATE fan_out SET after_key = ?1, claimed = claimed + ?2, done = ?3, passed_ended = passed_ended + ?7,
            passed_quarantined = passed_quarantined + ?8, passed_stale = passed_stale + ?9,
            claimed_android = claimed_android + ?10, claimed_web = claimed_web + ?11,
            passed_android = passed_android + ?12, passed_web = passed_web + ?13
        WHERE message = ?4 AND shard = ?5 AND after_key = ?6 AND done = 0
        """
    static let isUnmoved = "SELECT 1 FROM fan_out WHERE message = ? AND shard = ? AND after_key = ? AND done = 0"
    static let insertPage = """
        INSERT INTO page (message, shard, worker, claimed, open, settled, keys) VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    static let insertReleased = """
        INSERT INTO page (message, shard, claimed, open, interruptions, settled, keys) VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    static let keep = "UPDATE page SET claimed = ?, open = ?, settled = ?, keys = ? WHERE id = ?"
    static let reopen = """
        UPDATE fan_out SET is_open = CASE WHEN (SELECT state FROM message WHERE seq = ?1) = 'ACTIVE' AND (
                done = 0 OR EXISTS (
                    SELECT 1 FROM page INDEXED BY page_released
                    WHERE message = ?1 AND shard = fan_out.shard AND worker IS NULL))
            THEN 1 ELSE 0 END
        WHERE message = ?1 AND (shard = ?2 OR ?2 IS NULL)
        """
    static let split = """
        INSERT INTO fan_out (message, shard, project, after_key, last_key, last_subscription, refreshed_since, parent,
            only_route, expected, is_open)
        SELECT message, (SELECT max(shard) + 1 FROM fan_out WHERE message = ?1), project, ?4, last_key,
            last_subscription, refreshed_since, shard, ?3, 0, is_open
        FROM fan_out WHERE message = ?1 AND shard = ?2
        ON CONFLICT DO NOTHING
        """
    static let splitOff = """
        SELECT shard FROM fan_out INDEXED BY fan_out_by_parent WHERE message = ? AND parent = ? AND only_route = ?
        """
    static let moreSetAside = "SELECT 1 FROM set_aside WHERE message = ? AND shard = ? AND last_key > ? LIMIT 1"
    static let setAside = "INSERT INTO set_aside (message, shard, last_key, keys) VALUES (?, ?, ?, ?)"
    static let expect = """
        UPDATE fan_out SET expected = greatest(0, expected + ?3), done = CASE WHEN ?3 > 0 THEN 0 ELSE done END
        WHERE message = ?1 AND shard = ?2
        """
    /// So many keys that were set aside are in a row.
    private static let chunkSize = 1000

    func open(limitPerProject limit: Int, held: Set<PushRoute>, share: ShardShare) throws -> [OpenFanOut] {
        var open: [OpenFanOut] = []
        var project = ""
        while let next = try db.text(Self.nextProject, [project]) {
            project = next
            let id = try ProjectID(stored: next)
            let routes = try held.filter { $0.project == id }.compactMap { try RouteTable(db: db).find($0) }.sorted()
            open += try self.open(of: id, limit, held: routes, share)
        }
        return open
    }

    /// Steps from message to message, so that what is passed by costs one look each.
    private func open(
        of project: ProjectID, _ limit: Int, held: [Int64], _ share: ShardShare
    ) throws -> [OpenFanOut] {
        var open: [OpenFanOut] = []
        for route in held {
            guard let row = try db.row(Self.oldestOfRoute, [project.rawValue, route]) else { continue }
            open.append(
                try fanOut(row, of: project, remaining: remaining(row), shard: row[5], route: row[6], cursor: row[7]))
        }
        var (last, unpaced, paced, others) = (Int64.min, 0, 0, 0)
        while unpaced < limit {
            // Messages of which others do the rest take no place from those that this node has shards of.
            let next =
                others < limit
                ? try db.row(Self.nextMessage, [project.rawValue, last, held])
                : try db.row(Self.nextOwnMessage, [project.rawValue, last, held, share.count, share.place])
            guard let row = next else { break }
            last = row[0]
            let isPaced = (row[2] as Int?) != nil || (row[3] as Int64?) != nil
            if isPaced { paced += 1 }
            guard !isPaced || paced <= OpenFanOut.pacedLimit else { continue }
            // Each node takes its part of a pace, so all of them claim from a paced message.
            let own = isPaced ? .all : share
            var shards = try db.rows(
                Self.shardsOfMessage,
                [project.rawValue, last, held, OpenFanOut.shardsPerMessage, own.count, own.place])
            let isOwn = own == .all || !shards.isEmpty
            if !isOwn {
                others += 1
                shards = try db.rows(
                    Self.shardsOfOthers, [project.rawValue, last, held, OpenFanOut.shardsPerMessage])
            } else if !isPaced {
                unpaced += 1
            }
            let remaining = try remaining(row)
            for shard in shards {
                open.append(
                    try fanOut(
                        row, of: project, remaining: remaining, shard: shard[0], route: shard[1], cursor: shard[2],
                        isOwn: isOwn))
            }
        }
        return open
    }

    private func remaining(_ message: Row) throws -> Int {
        max(0, message[4] - Int(try db.number(Self.claimed, [message[0] as Int64]) ?? 0))
    }

    private func fanOut(
        _ row: Row, of project: ProjectID, remaining: Int, shard: Int64, route: Int64?, cursor: Int64,
        isOwn: Bool = true
    ) throws -> OpenFanOut {
        OpenFanOut(
            id: .init(message: row[0], shard: shard), message: try MessageID(column: row[1]), project: project,
            rate: row[2], finishBy: Timestamp(stored: row[3]), remaining: remaining,
            route: try route.map { try RouteTable(db: db).route($0) }, cursor: cursor, isOwn: isOwn)
    }

    /// Looks for the next recipients.
    func offer(of id: OpenFanOut.ID, limit: Int, held: Set<PushRoute>) throws -> Offer {
        guard let shard = try Shard(id, in: db), shard.isOpen else { return .nothing(isDone: true) }
        if let page = try released(shard, limit: limit) { return .released(page) }
        guard !shard.isDone else { return .nothing(isDone: true) }
        if let only = shard.onlyRoute, try held.contains(RouteTable(db: db).route(only)) {
            return .nothing(isDone: false)
        }
        var reader = CandidateReader(db: db, shard: shard, held: held)
        return .next(shard, try reader.next(limit))
    }

    private func released(_ shard: Shard, limit: Int) throws -> ReleasedPage? {
        guard let row = try db.row(Self.released, [shard.id.message, shard.id.shard]) else { return nil }
        let settled = KeyBitmap(row[2] as [UInt8])
        var reader = DeliveryRegistrationReader(db: db)
        var registrations: [DeliveryRegistration] = []
        var purged: [Int64] = []
        var rest: [Int64] = []
        for (index, key) in try PackedKeys.keys(row[3]).enumerated() where !settled[index] {
            if registrations.count == limit {
                rest.append(key)
            } else if let registration = try reader.find(key) {
                registrations.append(registration)
            } else {
                purged.append(key)
            }
        }
        return ReleasedPage(
            id: FanOutPage.ID(rawValue: row[0]), shard: shard, interruptions: row[1], registrations: registrations,
            rest: rest, purged: purged, changes: try RegistrationChanges(db: db).number())
    }

    /// Hands recipients whose route is held to the shard of that route.
    func setAside(_ keys: [Int64], _ route: PushRoute, of shard: Shard) throws {
        let (message, number) = (shard.id.message, shard.id.shard)
        let route = try RouteTable(db: db).id(of: route)
        // Fails when it is there.
        try db.change(Self.split, [message, number, route, shard.after])
        guard let other = try db.number(Self.splitOff, [message, number, route]) else {
            throw StoreError.invalid("a fan-out")
        }
        for start in stride(from: 0, to: keys.count, by: Self.chunkSize) {
            let chunk = keys[start..<min(start + Self.chunkSize, keys.count)]
            try db.change(Self.setAside, [message, other, chunk[chunk.endIndex - 1], PackedKeys.data(Array(chunk))])
        }
        try db.change(Self.expect, [message, other, keys.count])
        try db.change(Self.expect, [message, number, -keys.count])
        try db.change(Self.reopen, [message, other])
    }

    /// Counts candidates as claimed, and those that were passed by.
    ///
    /// - Returns: `false` when the shard changed since they were read; then nothing was counted.
    func moveCursor(of shard: Shard, past candidates: Candidates, isAtEnd: Bool) throws -> Bool {
        var claimed = PlatformCounts()
        for registration in candidates.registrations { claimed[registration.address.platform] += 1 }
        let (passed, platforms) = (candidates.passedBy.causes, candidates.passedBy.platforms)
        return try db.change(
            Self.moveCursor,
            [
                candidates.cursor, candidates.registrations.count, isAtEnd, shard.id.message, shard.id.shard,
                shard.after, passed.ended, passed.quarantined, passed.stale, claimed[.android], claimed[.web],
                platforms[.android], platforms[.web],
            ]) > 0
    }

    func isOpen(_ shard: Shard) throws -> Bool {
        try db.number(
            "SELECT is_open FROM fan_out WHERE message = ? AND shard = ?", [shard.id.message, shard.id.shard]) == 1
    }

    /// Says anew which shards of a message have something to claim: after its state changed.
    func reopen(_ message: Int64) throws {
        try db.change(Self.reopen, [message, nil])
    }
}
