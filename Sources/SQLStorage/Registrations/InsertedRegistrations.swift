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

    private let db: any Database
    private var counts: [Int64: Int64] = [:]
    private var newest: Timestamp?
    /// Whether an address may have been left; `nil`: look.
    private var hasFormerHolders: Bool?

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
        if isLeft == true { try db.post(Self.move, [key.rawValue, new.app, new.address.identity]) }
    }

    /// Writes the sums. More may be added afterwards, also after something ended registrations.
    mutating func finish() throws {
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
