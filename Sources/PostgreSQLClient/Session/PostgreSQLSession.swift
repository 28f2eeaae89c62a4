package import Logging

/// A place at the database: one connection, which is made when it is needed, and again when it was lost.
///
/// Its statements run on one thread, which waits for each answer; ``PostgreSQLPool`` has threads for that. Statements and
/// rows that it gave are valid within the transaction or snapshot in which they were asked for.
package final class PostgreSQLSession {
    private let configuration: PostgreSQLConfiguration
    package let logger: Logger
    private var connection: Connection?
    /// How many connections were given up: another number for each connection.
    package private(set) var connectionNumber = 0
    private var statements: [String: PostgreSQLStatement] = [:]
    /// Insertions of several rows, by the text of the insertion of one.
    private var arrayStatements: [String: PostgreSQLStatement] = [:]
    /// The timeline that the server of the connection writes; empty on a standby.
    private(set) var timeline = ""
    private var backOff: BackOff
    /// Told of each attempt to connect: why it failed, `nil` when it did not.
    var onAttempt: ((PostgreSQLError?) -> Void)?
    /// How many savepoints are open.
    var savepoints = 0

    /// Statements that a connection keeps prepared.
    private static let statementLimit = 2000

    /// Prepares a session; nothing is connected.
    package init(_ configuration: PostgreSQLConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        backOff = BackOff(longest: configuration.longestPause)
    }

    // MARK: Connection

    /// Connects, if there is no connection that stands.
    ///
    /// - Throws: why there is none: at once while the next attempt has to wait.
    package func connect() throws(PostgreSQLError) {
        if let connection {
            if connection.isAlive() { return }
            logger.debug("Connection to the database was lost", metadata: metadata(connection.failure))
            drop()
        }
        if backOff.wait(at: .now) != nil, let error = backOff.error { throw error }
        do throws(PostgreSQLError) {
            try open()
            backOff.succeeded()
            onAttempt?(nil)
        } catch {
            drop()
            onAttempt?(error)
            backOff.failed(error, at: .now, chance: .random(in: 0..<1))
            logger.debug("No connection to the database", metadata: metadata(error))
            throw error
        }
    }

    /// Whether it has a connection, as far as it knows.
    var isConnected: Bool { connection != nil }

    /// How long to wait before the next attempt to connect; `nil`: it may begin.
    package var pause: Duration? { backOff.wait(at: .now) }

    /// Closes the connection.
    package func close() { drop() }

    /// Gives the connection up, with all that was prepared on it.
    func drop() {
        statements.removeAll()
        arrayStatements.removeAll()
        connection = nil
        connectionNumber += 1
        savepoints = 0
    }

    func metadata(_ error: PostgreSQLError?) -> Logger.Metadata {
        ["database": "\(configuration.text)", "error": "\(error?.description ?? "")"]
    }

    /// Tries the servers in their order.
    private func open() throws(PostgreSQLError) {
        var failure: PostgreSQLError?
        for server in configuration.servers {
            do throws(PostgreSQLError) {
                let connection = try Connection(
                    server, timeout: configuration.connectTimeout, answerTimeout: configuration.answerTimeout)
                self.connection = connection
                timeline = try Self.timeline(connection)
                return
            } catch {
                // What a server said counts more than that another one is not there.
                if failure?.state == nil { failure = error }
            }
        }
        throw failure ?? PostgreSQLError(.configuration, "The URL of the database names no server.")
    }

    /// The first eight digits of the name of a WAL file (postgresql.org/docs/15/wal-internals.html). A standby has none.
    private static func timeline(_ connection: Connection) throws(PostgreSQLError) -> String {
        let statement = try PostgreSQLStatement(
            """
            SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END
            """, on: connection)
        guard try statement.next() else { return "" }
        defer { statement.reset() }
        return statement.text(0)
    }

    /// The connection that ``connect()`` made.
    func connected() throws(PostgreSQLError) -> Connection {
        guard let connection else {
            throw PostgreSQLError(.disconnected, "There is no connection to the database.")
        }
        return connection
    }

    // MARK: Statements

    /// The prepared statement of a text, after ``PostgreSQLConfiguration/translate``, always the same object for one text of a connection; ready to be bound.
    package func statement(_ text: String) throws(PostgreSQLError) -> PostgreSQLStatement {
        if let known = statements[text] {
            known.reset()
            return known
        }
        guard statements.count < Self.statementLimit else {
            throw PostgreSQLError(.misuse, "More than \(Self.statementLimit) texts of statements are in use.")
        }
        let statement: PostgreSQLStatement
        do throws(PostgreSQLError) {
            statement = try PostgreSQLStatement(configuration.translate(text), on: connected())
        } catch {
            throw error.naming(text)
        }
        statements[text] = statement
        return statement
    }

    /// The prepared statement that inserts several rows, of the text of one that inserts a row with `VALUES (?, …)`, a
    /// parameter for each column: its parameters are arrays of what is in these columns. Behind it may stand what is done on a
    /// conflict, without parameters; rows of one statement that conflict with each other are an error then.
    package func arrayStatement(_ text: String) throws(PostgreSQLError) -> PostgreSQLStatement {
        if let known = arrayStatements[text] {
            known.reset()
            return known
        }
        let insertion = try RowInsertion(configuration.translate(text), columns: statement(text).parameterTypes)
        let statement: PostgreSQLStatement
        do throws(PostgreSQLError) {
            statement = try PostgreSQLStatement(insertion.ofArrays, on: connected())
        } catch {
            throw error.naming(text)
        }
        arrayStatements[text] = statement
        return statement
    }

    /// Takes the rows that `body` gives into a table by COPY: any number of them, of which few are in memory at a time. When
    /// it returns, all are there; after an error none is.
    ///
    /// - Parameters:
    ///   - text: inserts one row, as that of ``arrayStatement(_:)``, and ends with `VALUES (?, …)`.
    ///   - body: runs nothing else on this session.
    /// - Returns: how many rows there were.
    /// - Throws: the error of `body`; or what the server has against a row, with its number. Within a transaction that ends
    ///   it, or its savepoint, unless no row had gone out.
    @discardableResult
    package func copy(_ text: String, _ body: (PostgreSQLCopy) throws -> Void) throws -> Int {
        let insertion = try RowInsertion(configuration.translate(text), columns: statement(text).parameterTypes)
        let copy = try PostgreSQLCopy(insertion, on: try connected())
        do {
            try body(copy)
            return try copy.finish()
        } catch {
            takeBack(copy)
            throw error
        }
    }

    private func takeBack(_ copy: PostgreSQLCopy) {
        do throws(PostgreSQLError) {
            try copy.takeBack()
        } catch {
            // As the server has to say.
            logger.trace("Rows of a COPY were taken back", metadata: metadata(error))
        }
    }

    /// Runs one statement without parameters; its rows are not read.
    package func execute(_ text: String) throws(PostgreSQLError) {
        _ = try connected().ask(text: text)
    }

    /// Runs statements that are separated by semicolons, as a migration has them. Their rows are not read, and there is no
    /// BEGIN or COMMIT among them.
    ///
    /// - Parameter timeout: how long all of them may take; the server's own limit for each one holds as well.
    package func run(script text: String, timeout: Duration) throws(PostgreSQLError) {
        try connected().run(script: text, timeout: timeout)
    }

    /// Whether the transaction can't go on, by an error that a step may have caught.
    package var isAborted: Bool {
        guard let connection, connection.failure == nil else { return true }
        return connection.transaction == .aborted
    }
}
