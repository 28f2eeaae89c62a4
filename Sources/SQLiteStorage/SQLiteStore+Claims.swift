import GRDB
package import PushModel
package import Store

extension SQLiteStore {
    /// Walks the open shards of one project after the other; shards that have nothing to claim now are not in the index.
    package func openFanOuts(
        limitPerProject limit: Int, held: Set<PushRoute>
    ) async throws(StoreError) -> [OpenFanOut] {
        try await read { db in try FanOutTable(db: db).open(limitPerProject: limit, held: held) }
    }

    /// Reads the next recipients beside the writer, then writes the page in a small step of its own, unless another
    /// worker was faster: then it is read again.
    package func claimPage(
        of fanOut: OpenFanOut.ID, limit: Int, held: Set<PushRoute>, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> FanOutClaim {
        guard limit > 0 else { return FanOutClaim(page: nil, isDone: false) }
        for _ in 0..<Self.claimAttempts {
            let offer = try await read { db in try FanOutTable(db: db).offer(of: fanOut, limit: limit, held: held) }
            let claim: FanOutClaim? =
                switch offer {
                case .nothing(let isDone): try await refusal(of: worker, isDone: isDone)
                case .released(let page):
                    try await write(.claim) { db in
                        try WorkerTable(db: db).check(worker)
                        return try FanOutTable(db: db).claim(page, by: worker, at: time)
                    }
                case .next(let shard, let candidates):
                    try await write(.claim) { db in
                        try WorkerTable(db: db).check(worker)
                        return try FanOutTable(db: db).claim(candidates, of: shard, by: worker, at: time)
                    }
                }
            if let claim { return claim }
        }
        return FanOutClaim(page: nil, isDone: false)
    }

    /// So often a claim is tried when others claim from the same shard; each time one of them got a page.
    private static let claimAttempts = 16

    private func refusal(of worker: WorkerID, isDone: Bool) async throws(StoreError) -> FanOutClaim {
        try await read { db in try WorkerTable(db: db).check(worker) }
        return FanOutClaim(page: nil, isDone: isDone)
    }

    /// Goes from route to route in the index of what waits.
    package func dueRoutes(_ lane: Lane, at time: Timestamp) async throws(StoreError) -> DueRoutes {
        try await read { db in try PendingTable(db: db).dueRoutes(lane, at: time) }
    }

    /// Reads beside the writer; nearly always that is all.
    package func bringForward(
        waitingBeyond limit: Timestamp, to time: Timestamp, count: Int
    ) async throws(StoreError) -> Int {
        let late = try await read { db in try PendingTable(db: db).waiting(beyond: limit, count: count) }
        guard !late.isEmpty else { return 0 }
        return try await write(.claim, rows: late.count) { db in
            for row in late {
                try db.change(PendingTable.bringForward, [time.milliseconds, row.message, row.key, row.notBefore])
            }
            return late.count
        }
    }

    /// Reads what is due beside the writer, with the registrations as they are now, then claims what nobody else claimed
    /// meanwhile.
    package func claimDue(
        _ lane: Lane, _ route: PushRoute, limit: Int, by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        while true {
            let (changes, due) = try await read { db in
                (
                    try RegistrationChanges(db: db).number(),
                    try PendingTable(db: db).due(lane, route, limit: limit, at: time)
                )
            }
            guard !due.isEmpty else {
                try await read { db in try WorkerTable(db: db).check(worker) }
                return []
            }
            let claimed = try await write(.claim, rows: due.count) { db in
                try WorkerTable(db: db).check(worker)
                return try PendingTable(db: db).claim(due, readAt: changes, by: worker, at: time)
            }
            // Rows that another worker took or that went to another route: what is behind them may be due as well.
            if !claimed.isEmpty { return claimed }
        }
    }

    /// As the other, with a look-up for each message.
    package func claimDue(
        _ lane: Lane, _ route: PushRoute, of messages: [MessageID], by worker: WorkerID, at time: Timestamp
    ) async throws(StoreError) -> [ClaimedDelivery] {
        let (changes, due) = try await read { db in
            (
                try RegistrationChanges(db: db).number(),
                try PendingTable(db: db).due(lane, route, of: messages, at: time)
            )
        }
        guard !due.isEmpty else {
            try await read { db in try WorkerTable(db: db).check(worker) }
            return []
        }
        return try await write(.claim, rows: due.count) { db in
            try WorkerTable(db: db).check(worker)
            return try PendingTable(db: db).claim(due, readAt: changes, by: worker, at: time)
        }
    }
}

/// Single deliveries and retries within one transaction.
struct PendingTable {
    let db: Database

    /// A delivery that was due when it was read.
    struct Due: Sendable {
        let message: Int64
        let key: Int64
        let route: Int64
        let notBefore: Int64
        /// Whether its message is not active: it is marked instead of claimed.
        let isHeld: Bool
        /// `nil`: the registration was purged.
        var delivery: ClaimedDelivery?
        /// The route it was read by.
        let readBy: PushRoute
        let id: MessageID
        let project: ProjectID
        let acceptedAt: Timestamp
        let history: AttemptHistory

        /// Where the registration belongs by now, if that is not the route it was read by.
        var otherRoute: PushRoute? {
            guard let registration = delivery?.registration else { return nil }
            let own = PushRoute(project: project, app: registration.app, environment: registration.environment)
            return own == readBy ? nil : own
        }
    }

    private static let dueColumns = """
        m.id, m.project, p.attempts, p.unknown_attempts, p.last_cause, p.message, m.accepted_at, m.expires_at,
            p.probing_since, p.refused_by, p.registration, p.not_before, r.key IS NULL, m.state <> 'ACTIVE',
            p.interruptions,
            \(DeliveryRegistrationReader.columns)
        """
    static let due = """
        SELECT \(dueColumns)
        FROM pending p INDEXED BY pending_due
        CROSS JOIN message m ON m.seq = p.message
        LEFT JOIN registration r ON r.key = p.registration
        WHERE p.lane = ? AND p.route = ? AND p.worker IS NULL AND p.is_held = 0 AND p.not_before <= ?
        ORDER BY p.not_before LIMIT ?
        """
    static let dueOfMessage = """
        SELECT \(dueColumns)
        FROM message m
        CROSS JOIN pending p ON p.message = m.seq
        LEFT JOIN registration r ON r.key = p.registration
        WHERE m.id = ? AND p.lane = ? AND p.route = ? AND p.worker IS NULL AND p.is_held = 0 AND p.not_before <= ?
        LIMIT 1
        """
    static let nextRoute = """
        SELECT route, not_before FROM pending INDEXED BY pending_due
        WHERE lane = ? AND worker IS NULL AND is_held = 0 AND route > ? ORDER BY route, not_before LIMIT 1
        """
    static let next = """
        SELECT not_before FROM pending INDEXED BY pending_due
        WHERE lane = ? AND route = ? AND worker IS NULL AND is_held = 0 AND not_before > ?
        ORDER BY not_before LIMIT 1
        """
    static let nextBeyond = """
        SELECT message, registration, not_before FROM pending INDEXED BY pending_due
        WHERE lane = ? AND route = ? AND worker IS NULL AND is_held = 0 AND not_before > ?
        ORDER BY not_before LIMIT ?
        """
    static let bringForward = """
        UPDATE pending SET not_before = ?1
        WHERE message = ?2 AND registration = ?3 AND worker IS NULL AND not_before = ?4
        """
    static let claim = """
        UPDATE pending SET worker = ?1
        WHERE message = ?2 AND registration = ?3 AND worker IS NULL AND is_held = 0 AND route = ?4 AND not_before = ?5
            AND (SELECT state FROM message WHERE seq = ?2) = 'ACTIVE'
        """
    static let hold = """
        UPDATE pending SET is_held = 1 WHERE message = ?1 AND registration = ?2
            AND (SELECT state FROM message WHERE seq = ?1) <> 'ACTIVE'
        """
    static let moveToRoute = """
        UPDATE pending SET route = ?1
        WHERE message = ?2 AND registration = ?3 AND worker IS NULL AND route = ?4 AND not_before = ?5
        """
    static let insert = """
        INSERT INTO pending (message, registration, lane, route, worker, is_held, not_before, attempts,
            unknown_attempts, interruptions, last_cause, probing_since, refused_by)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let take = "DELETE FROM pending WHERE message = ? AND registration = ? AND worker = ?"

    /// Makes a delivery of its own, waiting or claimed.
    func insert(
        _ message: Int64, _ key: RegistrationKey, _ lane: Lane, route: Int64, worker: WorkerID?, isHeld: Bool,
        _ history: AttemptHistory, notBefore: Timestamp
    ) throws {
        try db.change(
            Self.insert,
            [
                message, key.rawValue, lane.code, route, worker?.rawValue, isHeld, notBefore.milliseconds,
                history.attempts, history.unknownAttempts, history.interruptions, history.lastCause,
                history.probingSince?.milliseconds, history.refusedBy?.rawValue,
            ])
    }

    func dueRoutes(_ lane: Lane, at time: Timestamp) throws -> DueRoutes {
        var due = DueRoutes()
        var route: Int64 = 0
        while let row = try db.row(Self.nextRoute, [lane.code, route]) {
            route = row[0]
            var next = Timestamp(stored: row[1])
            if let first = next, first <= time {
                due.routes.append(try RouteTable(db: db).route(route))
                next = Timestamp(stored: try db.number(Self.next, [lane.code, route, time.milliseconds]))
            }
            if let next { due.next = due.next.map { min($0, next) } ?? next }
        }
        return due
    }

    /// Up to `count` deliveries that wait for a moment after `limit`. Those of paused messages are left: they are looked
    /// at when they go on.
    func waiting(beyond limit: Timestamp, count: Int) throws -> [(message: Int64, key: Int64, notBefore: Int64)] {
        var found: [(message: Int64, key: Int64, notBefore: Int64)] = []
        for lane in Lane.allCases {
            var route: Int64 = 0
            while found.count < count, let first = try db.row(Self.nextRoute, [lane.code, route]) {
                route = first[0]
                let rows = try Row.fetchAll(
                    db.cachedStatement(sql: Self.nextBeyond),
                    arguments: [lane.code, route, limit.milliseconds, count - found.count])
                found += rows.map { ($0[0], $0[1], $0[2]) }
            }
        }
        return found
    }

    func due(_ lane: Lane, _ route: PushRoute, limit: Int, at time: Timestamp) throws -> [Due] {
        guard let number = try RouteTable(db: db).find(route) else { return [] }
        var due: [Due] = []
        var reader = DeliveryRegistrationReader(db: db)
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: Self.due), arguments: [lane.code, number, time.milliseconds, limit])
        while let row = try rows.next() {
            due.append(try Self.due(row, number, route, &reader))
        }
        return due
    }

    func due(_ lane: Lane, _ route: PushRoute, of messages: [MessageID], at time: Timestamp) throws -> [Due] {
        guard let number = try RouteTable(db: db).find(route) else { return [] }
        var reader = DeliveryRegistrationReader(db: db)
        var due: [Due] = []
        for message in messages {
            let row = try db.row(Self.dueOfMessage, [message.rawValue, lane.code, number, time.milliseconds])
            if let row { due.append(try Self.due(row, number, route, &reader)) }
        }
        return due
    }

    private static func due(
        _ row: Row, _ number: Int64, _ route: PushRoute, _ reader: inout DeliveryRegistrationReader
    ) throws -> Due {
        var history = AttemptHistory(row: row, from: 2)
        history.interruptions = row[14]
        history.probingSince = Timestamp(stored: row[8])
        if let refusedBy: String = row[9] { history.refusedBy = try APNSEnvironment(storedCase: refusedBy) }
        var due = Due(
            message: row[5], key: row[10], route: number, notBefore: row[11], isHeld: row[13],
            readBy: route, id: try MessageID(stored: row[0]), project: try ProjectID(stored: row[1]),
            acceptedAt: Timestamp(milliseconds: row[6]), history: history)
        guard row[12] == false else { return due }
        let registration = try reader.read(row, from: 15)
        due.delivery = ClaimedDelivery(
            message: due.id, project: due.project, acceptedAt: due.acceptedAt,
            expiresAt: Timestamp(milliseconds: row[7]), registration: registration, page: nil, history: history)
        return due
    }

    /// Brings the registrations of what was read up to date with this transaction.
    ///
    /// - Parameter changes: the newest change of a registration that the snapshot showed.
    private func current(_ due: [Due], readAt changes: Int64) throws -> [Due] {
        guard let changed = try RegistrationChanges(db: db).after(changes) else { return due }
        var reader = DeliveryRegistrationReader(db: db)
        return try due.map { due in
            guard let before = due.delivery?.registration, changed.contains(before.key) else { return due }
            var due = due
            if let now = try reader.find(due.key) { due.delivery?.registration = now } else { due.delivery = nil }
            return due
        }
    }

    /// Claims those that still wait as they were read, with the registrations as they are now. A registration that is of
    /// another route by now waits there; what has no registration any more ends here.
    func claim(
        _ due: [Due], readAt changes: Int64, by worker: WorkerID, at time: Timestamp
    ) throws -> [ClaimedDelivery] {
        let due = try current(due, readAt: changes)
        let claim = try db.cachedStatement(sql: Self.claim)
        var claimed: [ClaimedDelivery] = []
        var gone: [Due] = []
        for due in due {
            guard !due.isHeld else {
                try db.change(Self.hold, [due.message, due.key])
                continue
            }
            if let other = due.otherRoute {
                let route = try RouteTable(db: db).id(of: other)
                try db.change(Self.moveToRoute, [route, due.message, due.key, due.route, due.notBefore])
                continue
            }
            try claim.execute(arguments: [worker.rawValue, due.message, due.key, due.route, due.notBefore])
            guard db.changesCount > 0 else { continue }
            if let delivery = due.delivery { claimed.append(delivery) } else { gone.append(due) }
        }
        guard !gone.isEmpty else { return claimed }
        var step = try SettleStep(db: db, worker: worker, newest: time)
        for due in gone { try step.endPurged(due, at: time) }
        _ = try step.finish()
        return claimed
    }
}
