import PushModel
import Store

/// Single deliveries and retries within one transaction.
struct PendingTable {
    let db: any Database

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
            let own = PushRoute(project: project, app: registration.app, channel: registration.channel)
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
        try db.post(
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
                let rows = try db.rows(Self.nextBeyond, [lane.code, route, limit.milliseconds, count - found.count])
                found += rows.map { ($0[0], $0[1], $0[2]) }
            }
        }
        return found
    }

    func due(_ lane: Lane, _ route: PushRoute, limit: Int, at time: Timestamp) throws -> [Due] {
        guard let number = try RouteTable(db: db).find(route) else { return [] }
        var due: [Due] = []
        var reader = DeliveryRegistrationReader(db: db)
        let rows = try db.cursor(Self.due, [lane.code, number, time.milliseconds, limit])
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
            let row = try db.row(Self.dueOfMessage, [message.column, lane.code, number, time.milliseconds])
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
        if let refusedBy: String = row[9] { history.refusedBy = try PushEnvironment(storedCase: refusedBy) }
        var due = Due(
            message: row[5], key: row[10], route: number, notBefore: row[11], isHeld: row[13],
            readBy: route, id: try MessageID(column: row[0]), project: try ProjectID(stored: row[1]),
            acceptedAt: Timestamp(milliseconds: row[6]), history: history)
        guard row[12] == false else { return due }
        let registration = try reader.read(row, from: 15)
        due.delivery = ClaimedDelivery(
            message: due.id, project: due.project, acceptedAt: due.acceptedAt,
            expiresAt: Timestamp(milliseconds: row[7]), registration: registration, page: nil, history: history)
        return due
    }
}
