import PushModel
import Store

/// A statement that runs for each single send, by its place among those that a transaction keeps.
enum HotStatement: Int, CaseIterable {
    case registration, acceptedMessages, messageByID, messageBySeq, complete, completeClaimed
}

/// What the writes of one transaction share: the connection, its prepared statements, and what was looked up already.
///
/// Only the thread of the connection uses it, for as long as the transaction lasts.
final class WriteTransaction {
    let db: any Database
    private var statements = [(any PreparedStatement)?](repeating: nil, count: HotStatement.allCases.count)
    private var insertion: (any PreparedStatement)?
    private var registrations: DeliveryRegistrationReader
    private var worker: (id: WorkerID, isRunning: Bool)?
    private var routes: [PushRoute: Int64] = [:]
    /// Registrations that are going to be looked up, and were not read yet.
    private var expected: [Int64] = []
    /// Those that were read because they were expected.
    private var found: [Int64: DeliveryRegistration] = [:]

    init(db: any Database) {
        self.db = db
        registrations = DeliveryRegistrationReader(db: db)
    }

    /// A prepared statement.
    ///
    /// - Parameter sql: its text, always the same for one place.
    func statement(_ hot: HotStatement, _ sql: @autoclosure () -> String) throws -> any PreparedStatement {
        if let known = statements[hot.rawValue] { return known }
        let statement = try db.statement(sql())
        statements[hot.rawValue] = statement
        return statement
    }

    /// The statement that inserts a message.
    func messageInsertion(_ sql: @autoclosure () -> String) throws -> any PreparedStatement {
        if let known = insertion { return known }
        let statement = try db.insertion(sql(), key: "seq")
        insertion = statement
        return statement
    }

    /// The registration with this number; `nil` when it was purged.
    func registration(_ key: RegistrationKey) throws -> DeliveryRegistration? {
        if !expected.isEmpty { try readExpected() }
        if let known = found[key.rawValue] { return known }
        let statement = try statement(.registration, DeliveryRegistrationReader.byKey)
        statement.bind(key.rawValue)
        return try statement.first { row in try registrations.read(row) }
    }

    /// Has the registrations that writes of the transaction are going to look up read with one question, where each takes a
    /// way to a server and back.
    func expect(_ keys: [RegistrationKey]) {
        guard db.dialect == .postgreSQL, keys.count > 1 else { return }
        expected = keys.map(\.rawValue)
    }

    private func readExpected() throws {
        let rows = try db.statement(DeliveryRegistrationReader.byKeys)
        rows.bind(numbers: Array(Set(expected)))
        expected.removeAll()
        while try rows.next() {
            let registration = try registrations.read(rows)
            found[registration.key.rawValue] = registration
        }
    }

    /// Whether a worker still owns what it claimed, asked once for each worker.
    func isRunning(_ worker: WorkerID, _ ask: () throws -> Bool) throws -> Bool {
        if let known = self.worker, known.id == worker { return known.isRunning }
        let isRunning = try ask()
        self.worker = (worker, isRunning)
        return isRunning
    }

    /// The number of a route; it gets one if it has none.
    func route(_ route: PushRoute) throws -> Int64 {
        if let known = routes[route] { return known }
        let number = try RouteTable(db: db).id(of: route)
        routes[route] = number
        return number
    }

    /// Forgets what was looked up: a write of another kind may have changed it, or one was taken back.
    func forget() {
        registrations = DeliveryRegistrationReader(db: db)
        worker = nil
        routes.removeAll()
        found.removeAll()
    }
}
