import PushModel
import Store

/// What active registrations that are inserted change beside themselves, within one transaction: the count of their
/// project, the clock of registrations, and the moves of addresses that a registration has just left.
///
/// ``finish()`` writes the sums once for all and has to be called before the transaction ends. Also before anything ends
/// registrations in the same transaction: a trigger takes those off the count at once, which never may go below zero.
struct InsertedRegistrations {
    static let count = """
        INSERT INTO project (name, registrations) VALUES ((SELECT project FROM app WHERE id = ?1), ?2)
            ON CONFLICT (name) DO UPDATE SET registrations = project.registrations + excluded.registrations
        """
    static let clock = "UPDATE meta SET value = ?1 WHERE name = 'registration_clock' AND value + 60000 < ?1"
    static let hasFormerHolders = "SELECT EXISTS (SELECT 1 FROM former_holder)"
    static let move = """
        INSERT INTO address_move (registration, former)
            SELECT ?1, registration FROM former_holder WHERE app = ?2 AND address = ?3
            ON CONFLICT DO NOTHING
        """
    /// As ``move``, of several; for PostgreSQL.
    static let moves = """
        INSERT INTO address_move (registration, former)
            SELECT n.registration, h.registration
            FROM unnest(?1::bigint[], ?2::bigint[], ?3::bytea[]) AS n (registration, app, address)
            CROSS JOIN LATERAL (
                SELECT f.registration FROM former_holder f WHERE f.app = n.app AND f.address = n.address LIMIT 1) h
            WHERE TRUE
            ON CONFLICT DO NOTHING
        """

    private let db: any Database
    private var counts: [Int64: Int64] = [:]
    private var newest: Timestamp?
    /// Whether an address may have been left; `nil`: look.
    private var hasFormerHolders: Bool?
    /// Who may have an address that was left.
    private var takers: [(key: RegistrationKey, app: Int64, address: [UInt8])] = []
    /// So many wait at most.
    private static let takerLimit = 1000

    init(db: any Database) {
        self.db = db
    }

    /// Takes note of one that was inserted.
    mutating func add(_ new: NewRegistration, _ key: RegistrationKey) throws {
        // What stands for a broadcast channel is no install.
        if new.address.channel.isOfDevices { counts[new.app, default: 0] += 1 }
        newest = max(newest ?? new.refreshedAt, new.refreshedAt)
        let isLeft = try hasFormerHolders ?? db.statement(Self.hasFormerHolders).first { $0.number(0) != 0 }
        hasFormerHolders = isLeft
        guard isLeft == true else { return }
        takers.append((key, new.app, new.address.identity))
        if takers.count == Self.takerLimit { try move() }
    }

    /// Notes whose addresses those were that were taken.
    private mutating func move() throws {
        if db.dialect.joinsRows, takers.count > 1 {
            let statement = try db.statement(Self.moves)
            statement.bind(numbers: takers.map(\.key.rawValue))
            statement.bind(numbers: takers.map(\.app))
            statement.bind(blobs: takers.map(\.address))
            try statement.post()
        } else {
            for taker in takers { try db.post(Self.move, [taker.key.rawValue, taker.app, taker.address]) }
        }
        takers.removeAll(keepingCapacity: true)
    }

    /// Writes the moves and the sums. More may be added afterwards, also after something ended registrations.
    mutating func finish() throws {
        try move()
        for (app, count) in counts {
            let statement = try db.statement(Self.count)
            statement.bind(app)
            statement.bind(count)
            try statement.post()
        }
        if let newest {
            let statement = try db.statement(Self.clock)
            statement.bind(newest.milliseconds)
            try statement.post()
        }
        counts.removeAll(keepingCapacity: true)
        newest = nil
        hasFormerHolders = nil
    }
}
