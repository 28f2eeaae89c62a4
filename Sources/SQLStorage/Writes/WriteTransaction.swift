import PushModel
import Store

/// A statement that runs for each single send, by its place among those that a transaction keeps.
enum HotStatement: Int, CaseIterable {
    case registration, acceptedMessages, messageByID, messageBySeq, complete, completeClaimed
}

/// What the writes of one transaction share: the connection, its prepared statements, what was looked up already, and
/// messages that are inserted together.
///
/// Only the thread of the connection uses it, for as long as the transaction lasts.
final class WriteTransaction {
    let db: any Database
    private var statements = [(any PreparedStatement)?](repeating: nil, count: HotStatement.allCases.count)
    private var insertion: (any PreparedStatement)?
    private var registrations: DeliveryRegistrationReader
    private var workers: [WorkerID: Bool] = [:]
    /// Names that transactions before this one found.
    private let known: NameNumbers
    private var found = NameNumbers()
    /// The clock of the ledger.
    private var clock: Timestamp?
    /// What was asked for, and not read yet.
    private var asked = AskedRows()
    /// Registrations that its writes look up, which are asked for all at once, and whether they were read.
    private var expected: [RegistrationKey] = []
    private var hasReadExpected = false
    private var foundRegistrations: [Int64: DeliveryRegistration] = [:]
    private var foundMessages: [MessageID: StoredRow] = [:]
    private let newMessages = RowBatch()
    /// Those that were inserted with numbers that were known before.
    private(set) var accepted: [AcceptedMessage] = []
    /// Whether others were inserted, or may have been.
    private(set) var hasUnknownMessages = false
    private var insertionText = ""

    /// So many messages are inserted with one statement.
    private static let messageLimit = 250

    /// - Parameter names: those that need not be asked for.
    init(db: any Database, names: NameNumbers = NameNumbers()) {
        self.db = db
        known = names
        registrations = DeliveryRegistrationReader(db: db, names: names.appNames)
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

    // MARK: Messages

    /// The statement that inserts a message.
    func messageInsertion(_ sql: @autoclosure () -> String) throws -> any PreparedStatement {
        hasUnknownMessages = true
        // Messages have their numbers in the order in which they were accepted.
        asked.sequence = nil
        if let known = insertion { return known }
        let statement = try db.insertion(sql(), key: "seq")
        insertion = statement
        return statement
    }

    /// A number for a message that is inserted with others; `nil`: there is none, and the message is inserted by itself.
    func takeSequence() throws -> Int64? {
        guard let rows = asked.sequence else { return nil }
        guard let row = try rows.next() else {
            asked.sequence = nil
            return nil
        }
        return row[0]
    }

    /// A number for a ledger block; `nil`: the database gives one.
    func takeBlock() throws -> Int64? {
        guard let rows = asked.blocks else { return nil }
        guard let row = try rows.next() else {
            asked.blocks = nil
            return nil
        }
        return row[0]
    }

    /// Takes a message that is inserted with others, before anything looks at it.
    ///
    /// - Parameters:
    ///   - sql: inserts one, always the same text.
    ///   - message: it, with the number that it has.
    ///   - bind: binds its columns.
    func add(_ message: AcceptedMessage, _ sql: String, _ bind: (any ParameterBinder) -> Void) throws {
        insertionText = sql
        accepted.append(message)
        bind(newMessages)
        newMessages.endRow()
        if newMessages.count >= Self.messageLimit { try insertMessages() }
    }

    /// Inserts the messages that were taken.
    func insertMessages() throws {
        try newMessages.post(insertionText, to: db)
    }

    // MARK: Look-ups

    /// Asks for what writes of the transaction are going to look up, all at once, where each costs a round trip to a server.
    func expect(_ lookUps: @autoclosure () -> LookUps) throws {
        guard db.dialect.joinsRows else { return }
        // What is left of those before is given up first: the statements are the same.
        asked = AskedRows()
        forgetRegistrations()
        let lookUps = lookUps()
        asked = try AskedRows(lookUps, db)
        expected = lookUps.registrations
    }

    /// The registration with this number; `nil` when it was purged.
    func registration(_ key: RegistrationKey) throws -> DeliveryRegistration? {
        if !hasReadExpected { try readExpected() }
        if let known = foundRegistrations[key.rawValue] { return known }
        let statement = try statement(.registration, DeliveryRegistrationReader.byKey)
        statement.bind(key.rawValue)
        return try statement.first { row in try registrations.read(row) }
    }

    /// What was asked for may have been forgotten since.
    private func readExpected() throws {
        hasReadExpected = true
        guard let rows = try asked.registrations ?? (expected.isEmpty ? nil : AskedRows.askRegistrations(expected, db))
        else { return }
        asked.registrations = nil
        while let row = try rows.next() {
            let registration = try registrations.read(row)
            foundRegistrations[registration.key.rawValue] = registration
        }
    }

    /// The row of a message that was expected, as ``OpenMessageRow`` has it. It is handed out once, since who takes it may
    /// change the message. `nil`: it is to be asked for.
    func takeMessage(_ id: MessageID) throws -> StoredRow? {
        if let rows = asked.messages {
            asked.messages = nil
            while try rows.next() { foundMessages[try OpenMessageRow.id(of: rows)] = rows.copy() }
        }
        return foundMessages.removeValue(forKey: id)
    }

    /// Whether a worker still owns what it claimed, asked once for each worker.
    func isRunning(_ worker: WorkerID) throws -> Bool {
        if let (id, rows) = asked.worker {
            asked.worker = nil
            workers[id] = try rows.next() != nil
        }
        try readWorkerAndClock()
        if let known = workers[worker] { return known }
        let isRunning = try db.number(AskedRows.isRunning, [worker.rawValue]) != nil
        workers[worker] = isRunning
        return isRunning
    }

    /// The time of recording of what ends in this transaction, and moves the clock of the ledger to it.
    ///
    /// - Parameter newest: when the newest of it ended; `nil`: nothing ends.
    func recordingTime(_ newest: Timestamp?) throws -> Timestamp {
        let table = LedgerClock(db: db)
        try readWorkerAndClock()
        let now = try clock ?? table.now()
        let time = try newest.map { try table.advance(to: $0, from: now) } ?? now
        clock = time
        return time
    }

    private func readWorkerAndClock() throws {
        guard let (worker, rows) = asked.workerAndClock else { return }
        asked.workerAndClock = nil
        // A row can be read as long as its cursor lives.
        try withExtendedLifetime(rows) {
            guard let row = try rows.next() else { return }
            let (isRunning, time): (Int64?, Int64?) = (row[0], row[1])
            workers[worker] = isRunning != nil
            if clock == nil { clock = Timestamp(milliseconds: time ?? 0) }
        }
    }

    /// The number of a route; it gets one if it has none.
    func route(_ route: PushRoute) throws -> Int64 {
        if let number = known.routes[route] ?? found.routes[route] { return number }
        let number = try RouteTable(db: db).id(of: route)
        found.routes[route] = number
        return number
    }

    /// The number of an app; it gets one if it has none.
    func app(_ key: AppKey, of project: ProjectID) throws -> Int64 {
        let app = NameNumbers.App(project: project, key: key)
        if let number = known.apps[app] ?? found.apps[app] { return number }
        let number = try AppTable(db: db).id(project, key)
        found.apps[app] = number
        return number
    }

    /// The names that were found: true when the transaction is committed.
    var foundNames: NameNumbers {
        var names = found
        names.appNames.merge(registrations.foundNames) { $1 }
        return names
    }

    /// Forgets what was looked up: a write of another kind may have changed it, or one was taken back.
    func forget() {
        registrations = DeliveryRegistrationReader(db: db, names: known.appNames)
        workers.removeAll()
        found = NameNumbers()
        foundMessages.removeAll()
        clock = nil
        asked.forget()
        forgetRegistrations()
    }

    /// Forgets the registrations that were looked up or asked for: a write changed some. The next one asks for all again.
    func forgetRegistrations() {
        asked.registrations = nil
        foundRegistrations.removeAll()
        hasReadExpected = false
    }

    /// Forgets what a write did that was taken back.
    func takeBack() {
        forget()
        newMessages.removeAll()
        // Of what was accepted before it, too.
        hasUnknownMessages = true
    }
}
