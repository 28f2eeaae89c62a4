import GRDB
import PushModel
import Store

/// A statement that runs for each single send.
enum HotStatement: Int, CaseIterable {
    case registration, insertMessage, acceptedMessages, messageByID, messageBySeq, complete

    var sql: String {
        switch self {
        case .registration: DeliveryRegistrationReader.byKey
        case .insertMessage: AcceptStep.insert
        case .acceptedMessages: EventTable.accepted
        case .messageByID: SettleStep.messageByID
        case .messageBySeq: SettleStep.messageBySeq
        case .complete: MessageTable.complete
        }
    }
}

/// What the writes of one transaction share: the connection, its prepared statements, and what was looked up already.
///
/// Only the thread of the connection uses it, for as long as the transaction lasts.
final class WriteTransaction {
    let db: Database
    private var statements = [RawStatement?](repeating: nil, count: HotStatement.allCases.count)
    private var registrations: DeliveryRegistrationReader
    private var worker: (id: WorkerID, isRunning: Bool)?
    private var routes: [PushRoute: Int64] = [:]

    init(db: Database) {
        self.db = db
        registrations = DeliveryRegistrationReader(db: db)
    }

    /// A prepared statement.
    func statement(_ hot: HotStatement) throws -> RawStatement {
        if let known = statements[hot.rawValue] { return known }
        let statement = try RawStatement(hot.sql, db)
        statements[hot.rawValue] = statement
        return statement
    }

    /// The registration with this number; `nil` when it was purged.
    func registration(_ key: RegistrationKey) throws -> DeliveryRegistration? {
        let statement = try statement(.registration)
        statement.bind(key.rawValue)
        return try statement.first { row in try registrations.read(row) }
    }

    /// Whether a worker still owns what it claimed.
    func isRunning(_ worker: WorkerID) throws -> Bool {
        if let known = self.worker, known.id == worker { return known.isRunning }
        let isRunning = try WorkerTable(db: db).isRunning(worker)
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
    }
}
