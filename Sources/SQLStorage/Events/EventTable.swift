import PushModel
import Store

/// Writes events within the transaction of the step that makes them.
struct EventTable {
    let db: any Database

    static let newest = "SELECT seq FROM numbering WHERE name = 'event'"
    static let insert = """
        INSERT INTO event (number, first, project, time, body)
        SELECT newest + ?1, newest + 1, ?2, ?3, ?4
        FROM (SELECT coalesce((\(newest)), 0) AS newest) n
        """
    static let oldest = "SELECT number, time FROM event ORDER BY number LIMIT ?"
    static let forget = "DELETE FROM event WHERE number <= ?"

    /// The newest number that was given.
    func newest() throws -> Int64 {
        try db.number(Self.newest) ?? 0
    }

    /// Adds what a step did in a project.
    func add(_ body: EventBody, of project: ProjectID, at time: Timestamp) throws {
        try db.post(Self.insert, [body.count, project.rawValue, time.milliseconds, body.data])
    }

    /// Removes rows up to the last one that is older than `time` among the first `limit`.
    ///
    /// - Returns: how many rows.
    func forget(before time: Timestamp, limit: Int) throws -> Int {
        let rows = try db.rows(Self.oldest, [limit])
        guard let last = rows.last(where: { $0[1] < time.milliseconds }) else { return 0 }
        return try db.change(Self.forget, [last[0] as Int64])
    }
}

extension EventBody.Cause {
    /// The cause as events name it.
    init(_ cause: RegistrationEnd.Cause) {
        switch cause {
        case .deleted: self = .deleted
        case .unregistered: self = .unregistered
        case .replaced: self = .replaced
        case .superseded: self = .superseded
        }
    }
}

extension RegistrationEnd.Cause {
    /// The cause that an event names.
    init(_ cause: EventBody.Cause) {
        switch cause {
        case .deleted: self = .deleted
        case .unregistered: self = .unregistered
        case .replaced: self = .replaced
        case .superseded: self = .superseded
        }
    }
}

/// What of one step of settling are events: by project, one row each.
struct SettledEvents {
    private var projects: [(id: ProjectID, settled: EventBody.Settled)] = []

    private mutating func change(_ project: ProjectID, _ body: (inout EventBody.Settled) -> Void) {
        let place = projects.lastIndex { $0.id == project } ?? projects.count
        if place == projects.count { projects.append((project, EventBody.Settled())) }
        body(&projects[place].settled)
    }

    /// Takes a ledger block; they come in the order of their ids.
    mutating func add(block id: Int64, rows: Int, of project: ProjectID) {
        change(project) { settled in
            settled.blocks = (settled.deliveries == 0 ? id : settled.blocks.lowerBound)...id
            settled.deliveries += rows
        }
    }

    /// Takes a registration that was found dead.
    mutating func add(unregistered key: Int64, of project: ProjectID) {
        change(project) { $0.unregistered.append(key) }
    }

    /// Takes a message that is complete.
    mutating func add(complete message: Int64, of project: ProjectID) {
        change(project) { $0.complete.append(message) }
    }

    /// Writes what was taken.
    func write(to db: any Database, at time: Timestamp) throws {
        for (project, settled) in projects {
            var settled = settled
            settled.unregistered.sort()
            settled.complete.sort()
            try EventTable(db: db).add(.settled(settled), of: project, at: time)
        }
    }
}
