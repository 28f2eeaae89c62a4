import PushModel
import Store

/// Reads what a delivery needs of registrations: the row that a broadcast reads a million times. One app id is shared by
/// all rows of the app that come one after the other. Valid within one transaction.
struct DeliveryRegistrationReader {
    /// The columns that ``read(_:from:)`` reads, of a registration named `r`.
    static let columns = """
        r.key, r.fid, r.app, r.address, r.channel, r.ended_at IS NULL, r.refreshed_at, \
        r.proven_at, r.quarantined_at IS NOT NULL, r.address_detail
        """
    /// How many columns that are.
    static let width = 10
    static let byKey = "SELECT \(columns) FROM registration r WHERE r.key = ?"
    /// For PostgreSQL: by the index, whatever the planner expects of an array.
    static let byKeys = "SELECT \(columns) FROM registration r WHERE r.key = ANY (ARRAY(SELECT value FROM numbers(?)))"

    private let db: any Database
    private var names: AppNames
    private var app: (number: Int64, id: AppID)?

    /// - Parameter names: of apps that need not be read.
    init(db: any Database, names: [Int64: AppNames.Name] = [:]) {
        self.db = db
        self.names = AppNames(db: db, known: names)
    }

    /// The names of apps that were read.
    var foundNames: [Int64: AppNames.Name] { names.found }

    /// Reads ``columns``, which begin at `start`.
    mutating func read(_ row: Row, from start: Int = 0) throws -> DeliveryRegistration {
        let address = try Address(channel: row[start + 4], bytes: row[start + 3]) { row[start + 9] }
        return DeliveryRegistration(
            key: RegistrationKey(rawValue: row[start]), id: try RegistrationID(stored: row[start + 1]),
            app: try app(row[start + 2]), address: address,
            isActive: row[start + 5], refreshedAt: Timestamp(milliseconds: row[start + 6]),
            provenAt: Timestamp(stored: row[start + 7]), isQuarantined: row[start + 8])
    }

    /// Reads ``columns``, which come first.
    mutating func read(_ row: any PreparedStatement) throws -> DeliveryRegistration {
        let address = try Address(channel: Int(row.number(4)), bytes: row.bytes(3)) {
            row.optionalBytes(9)
        }
        return DeliveryRegistration(
            key: RegistrationKey(rawValue: row.number(0)), id: try RegistrationID(stored: row.text(1)),
            app: try app(row.number(2)), address: address,
            isActive: row.number(5) != 0, refreshedAt: Timestamp(milliseconds: row.number(6)),
            provenAt: Timestamp(stored: row.optionalNumber(7)), isQuarantined: row.number(8) != 0)
    }

    /// The registration with this number; `nil` when it was purged.
    mutating func find(_ key: Int64) throws -> DeliveryRegistration? {
        let statement = try db.statement(Self.byKey)
        statement.bind(key)
        return try statement.first { row in try read(row) }
    }

    /// Registrations that are going to be looked at, by their keys: with one question, where each costs a round trip to a
    /// server; otherwise none, and each is to be looked up by itself.
    mutating func find(_ keys: some Collection<Int64>) throws -> [Int64: DeliveryRegistration] {
        guard db.dialect.joinsRows, !keys.isEmpty else { return [:] }
        let rows = try db.statement(Self.byKeys)
        rows.bind(numbers: Array(keys))
        var found: [Int64: DeliveryRegistration] = [:]
        while try rows.next() {
            let registration = try read(rows)
            found[registration.key.rawValue] = registration
        }
        return found
    }

    private mutating func app(_ number: Int64) throws -> AppID {
        if let app, app.number == number { return app.id }
        let id = try names[number].app
        app = (number, id)
        return id
    }
}
