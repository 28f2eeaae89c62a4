import CPostgreSQL

/// One connection to the server by libpq, in pipeline mode from its beginning on.
///
/// All calls return in time: sockets are non-blocking, and every wait has a deadline. What is sent waits in libpq's buffer
/// and goes out with the next question; while it goes out, answers are read, so that the two sides never wait for each
/// other. A COPY leaves the pipeline and enters it again. Used by one thread only; closed with the object.
@safe final class Connection {
    private let handle: OpaquePointer
    private var state = ConnectionState()
    /// How long an answer may take: longer than the server's own limit of a statement.
    private let answerTimeout: Duration
    private var lastStatement = 0
    private var lastQuestion = 0
    /// Results of questions, by their numbers, until they are asked for.
    private var kept: [Int: QueryResult] = [:]

    /// Statements that may be out before their answers are awaited: each waits in memory here and there.
    static let pipelineLimit = 1000
    /// Statements between two times when what was posted is sent, without waiting for its answers.
    private static let flushInterval = 50

    /// Connects to one server.
    ///
    /// - Throws: ``PostgreSQLError`` `.disconnected` or `.timedOut`.
    init(_ parameters: ConnectionParameters, timeout: Duration, answerTimeout: Duration) throws(PostgreSQLError) {
        guard let handle = unsafe parameters.start() else {
            throw PostgreSQLError(.disconnected, "There is no memory for a connection to the database.")
        }
        unsafe self.handle = handle
        self.answerTimeout = answerTimeout
        // The server's code is told in texts only here.
        unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        // Otherwise they go to standard error. This object ends the connection, so it is there whenever one comes.
        unsafe PQsetNoticeReceiver(
            handle, { unsafe Connection.note($0, $1) }, Unmanaged.passUnretained(self).toOpaque())
        try finishConnecting(Deadline(in: timeout))
        unsafe PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1 else {
            throw lost()
        }
        state.opened()
    }

    deinit { unsafe PQfinish(handle) }

    private func finishConnecting(_ deadline: Deadline) throws(PostgreSQLError) {
        // Without a socket there is nothing to wait for: the name is unknown, or the file of the socket is not there.
        guard unsafe PQstatus(handle) != CONNECTION_BAD else { throw PostgreSQLError(connection: message) }
        var interest = SocketInterest.writable
        while true {
            guard wait(for: descriptor, interest, until: deadline) else {
                throw PostgreSQLError(.timedOut, "The database did not answer while connecting.")
            }
            switch unsafe PQconnectPoll(handle) {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: interest = .readable
            case PGRES_POLLING_WRITING: interest = .writable
            default: throw PostgreSQLError(connection: message)
            }
        }
    }

    /// The socket: another one after each step of connecting.
    var descriptor: Int32 { unsafe PQsocket(handle) }

    private var message: String { unsafe String(cString: PQerrorMessage(handle)) }

    // MARK: What holds now

    /// Why it is of no use any more.
    var failure: PostgreSQLError? { state.failure }

    /// Where its transaction stands, as far as answers came.
    var transaction: ConnectionState.Transaction { state.transaction }

    /// Whether a COMMIT is out whose answer did not come.
    private(set) var isCommitUnanswered = false

    /// Whether the server said of the last COMMIT that it took place, and that somebody ended its wait for a standby
    /// (postgresql.org/docs/15/warm-standby.html#SYNCHRONOUS-REPLICATION).
    private(set) var isCommitUnreplicated = false

    /// Takes a notice of the server, on the thread that reads its answers. What else warns at a COMMIT costs a question.
    @unsafe private static func note(_ context: UnsafeMutableRawPointer?, _ notice: OpaquePointer?) {
        guard let context = unsafe context, let code = unsafe PQresultErrorField(notice, Int32(UInt8(ascii: "C"))),
            [.warning, .adminShutdown].contains(SQLState(unsafe String(cString: code)))
        else { return }
        let connection = unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        connection.isCommitUnreplicated = connection.isCommitUnanswered
    }

    /// The number of the transaction, once the server gave it.
    private(set) var transactionNumber: Int64?

    /// The first failure of the transaction after which it may succeed when it runs again.
    private(set) var passingFailure: PostgreSQLError?

    /// The first failure after which the connection has to be replaced, though it stands.
    private(set) var endingFailure: PostgreSQLError?

    /// Whether answers are still to come.
    var isWaiting: Bool { state.isWaiting }

    /// The server's process, for other connections that look at it.
    var serverProcess: Int32 { unsafe PQbackendPID(handle) }

    /// Reads what came while nothing was asked, as the end of the server.
    ///
    /// - Returns: whether the connection still stands.
    func isAlive() -> Bool {
        while state.failure == nil, wait(for: descriptor, .readable, until: Deadline(in: .zero)) {
            if unsafe PQconsumeInput(handle) == 0 { give(up: lost()) }
        }
        return state.failure == nil
    }

    /// Notifications of others that came: their payloads. Reads what is there.
    ///
    /// - Throws: when the connection is lost.
    func notifications() throws(PostgreSQLError) -> [String] {
        guard isAlive() else { throw failure ?? lost() }
        var payloads: [String] = []
        while let notification = unsafe PQnotifies(handle) {
            if unsafe notification.pointee.be_pid != serverProcess, let text = unsafe notification.pointee.extra {
                payloads.append(unsafe String(cString: text))
            }
            unsafe PQfreemem(notification)
        }
        return payloads
    }

    // MARK: Sending

    /// Has the server parse and describe a statement, and waits for that.
    func prepare(_ text: String) throws(PostgreSQLError) -> StatementDescription {
        lastStatement += 1
        let name = "s\(lastStatement)"
        try send(.statement(.none)) { unsafe PQsendPrepare($0, name, text, 0, nil) }
        lastQuestion += 1
        try send(.question(lastQuestion)) { unsafe PQsendDescribePrepared($0, name) }
        let result = try result(of: lastQuestion)
        return StatementDescription(
            name: name, parameters: result.parameterTypes,
            columns: (0..<result.columnCount).map { result.type($0) })
    }

    /// Sends a prepared statement whose result is looked at for errors only, with a later answer.
    func post(
        _ statement: StatementDescription, _ parameters: ParameterBuffer,
        _ step: ConnectionState.TransactionStep = .none
    ) throws(PostgreSQLError) {
        if state.expectedCount >= Self.pipelineLimit { try answer() }
        note(step)
        try send(statement, parameters, .statement(step))
        if state.expectedCount.isMultiple(of: Self.flushInterval) { try flush() }
    }

    /// A statement that does this to the transaction is about to be sent.
    private func note(_ step: ConnectionState.TransactionStep) {
        switch step {
        // Also a part of it that is sent may be all that the server needs.
        case .commit: (isCommitUnanswered, isCommitUnreplicated) = (true, false)
        case .begin:
            kept.removeAll()
            (transactionNumber, passingFailure) = (nil, nil)
        case .none, .rollBack, .rollBackToSavepoint: break
        }
    }

    /// Sends a prepared statement and waits for its result and those of all that was sent before.
    ///
    /// - Throws: the first failure among them.
    func ask(_ statement: StatementDescription, _ parameters: ParameterBuffer) throws(PostgreSQLError)
        -> QueryResult
    {
        try result(of: askAhead(statement, parameters))
    }

    /// Sends a prepared statement, whose result is kept with a later answer.
    ///
    /// - Returns: the number of the question, for ``result(of:)``. It is valid up to the beginning of the next transaction.
    func askAhead(_ statement: StatementDescription, _ parameters: ParameterBuffer) throws(PostgreSQLError) -> Int {
        if state.expectedCount >= Self.pipelineLimit { try answer() }
        lastQuestion += 1
        try send(statement, parameters, .question(lastQuestion))
        return lastQuestion
    }

    /// The result of a question. Waits for all answers if it did not come yet.
    ///
    /// - Throws: the first failure of what was sent; or that the question was left out after a failure that was told before.
    func result(of question: Int) throws(PostgreSQLError) -> QueryResult {
        if let known = kept.removeValue(forKey: question) { return known }
        guard state.isWaiting else {
            throw failure
                ?? PostgreSQLError(.refused, "A statement was left out after a failure.", state: .transactionAborted)
        }
        try answer()
        guard let result = kept.removeValue(forKey: question) else {
            throw give(up: PostgreSQLError(.protocolViolation, "The database did not answer a statement."))
        }
        return result
    }

    /// Sends a statement without parameters as it is.
    func post(text: String, _ step: ConnectionState.TransactionStep = .none) throws(PostgreSQLError) {
        note(step)
        try send(.statement(step)) { unsafe PQsendQueryParams($0, text, 0, nil, nil, nil, nil, 1) }
    }

    /// Sends a statement that gives the number of the transaction that began before it, in one row and column. Nothing is
    /// waited for.
    func askNumber(_ statement: StatementDescription, _ parameters: ParameterBuffer) throws(PostgreSQLError) {
        try send(statement, parameters, .transactionNumber)
    }

    /// As ``post(text:_:)``, and waits for its result and those of all that was sent before.
    func ask(text: String) throws(PostgreSQLError) -> QueryResult {
        lastQuestion += 1
        try send(.question(lastQuestion)) { unsafe PQsendQueryParams($0, text, 0, nil, nil, nil, nil, 1) }
        return try result(of: lastQuestion)
    }

    private func send(
        _ statement: StatementDescription, _ parameters: ParameterBuffer, _ request: ConnectionState.Request
    ) throws(PostgreSQLError) {
        let places = parameters.places
        let lengths = places.map { Int32($0.count) }
        let formats = [Int32](repeating: 1, count: lengths.count)
        try send(request) { handle in
            unsafe parameters.bytes.withUnsafeBytes { bytes in
                let start = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress
                let values = unsafe places.map { place in
                    unsafe place.count < 0 ? nil : start.map { unsafe $0 + place.start }
                }
                return unsafe PQsendQueryPrepared(
                    handle, statement.name, Int32(lengths.count), values, lengths, formats, 1)
            }
        }
    }

    @safe private func send(
        _ request: ConnectionState.Request, _ call: (OpaquePointer) -> Int32
    ) throws(PostgreSQLError) {
        try state.send(request)
        guard unsafe call(handle) == 1 else { throw give(up: lost()) }
    }

    /// Sends a sync, so that the server answers what was sent, and does not wait for that.
    func sync() throws(PostgreSQLError) {
        try send(.sync) { unsafe PQpipelineSync($0) }
        try flush()
    }

    /// Sends what waits in libpq's buffer.
    private func flush() throws(PostgreSQLError) {
        let deadline = Deadline(in: answerTimeout)
        while true {
            let result = unsafe PQflush(handle)
            guard result >= 0 else { throw give(up: lost()) }
            if result == 0 { return }
            guard wait(for: descriptor, [.readable, .writable], until: deadline) else { throw give(up: timedOut) }
            // The server may wait for us to read before it reads on.
            guard unsafe PQconsumeInput(handle) == 1 else { throw give(up: lost()) }
        }
    }

    // MARK: Answers

    /// Ends the segment and waits for all answers.
    ///
    /// - Throws: the first failure.
    func answer() throws(PostgreSQLError) {
        try sync()
        let deadline = Deadline(in: answerTimeout)
        while state.isWaiting {
            let result = try nextResult(deadline)
            switch state.take(Self.answer(result)) {
            case .readOn: break
            case .keep(let question): kept[question] = result
            case .keepNumber: transactionNumber = result.map { $0.integer(0, 0) }
            case .settle(let failure):
                isCommitUnanswered = false
                guard let failure else { return }
                throw noted(failure)
            case .sendRows: throw give(up: outOfOrder)
            case .fail(let error): throw give(up: error)
            }
        }
        throw failure ?? lost()
    }

    /// Keeps what a failure says of the transaction and of the connection.
    private func noted(_ failure: PostgreSQLError) -> PostgreSQLError {
        if failure.isPassing, passingFailure == nil { passingFailure = failure }
        if failure.endsConnection, endingFailure == nil { endingFailure = failure }
        return failure
    }

    private func nextResult(_ deadline: Deadline) throws(PostgreSQLError) -> QueryResult? {
        while unsafe PQisBusy(handle) == 1 {
            guard wait(for: descriptor, .readable, until: deadline) else { throw give(up: timedOut) }
            guard unsafe PQconsumeInput(handle) == 1 else { throw give(up: lost()) }
        }
        guard let result = unsafe PQgetResult(handle) else {
            guard unsafe PQstatus(handle) == CONNECTION_OK else { throw give(up: lost()) }
            return nil
        }
        let owned = unsafe QueryResult(result)
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            throw give(up: PostgreSQLError(ending: owned) ?? lost())
        }
        return owned
    }

    private static func answer(_ result: QueryResult?) -> ConnectionState.Answer {
        guard let result else { return .end }
        switch result.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: return .success(result.command)
        case PGRES_FATAL_ERROR: return .failure(PostgreSQLError(ending: result) ?? PostgreSQLError(refusal: result))
        case PGRES_PIPELINE_ABORTED: return .leftOut
        case PGRES_PIPELINE_SYNC: return .sync
        case PGRES_COPY_IN: return .takesRows
        default: return .failure(PostgreSQLError(.protocolViolation, "The database sent a result of an unknown kind."))
        }
    }

    /// Runs statements that are separated by semicolons, outside of the pipeline.
    func run(script text: String, timeout: Duration) throws(PostgreSQLError) {
        if state.isWaiting { try answer() }
        if let failure { throw failure }
        guard unsafe PQexitPipelineMode(handle) == 1, unsafe PQsendQuery(handle, text) == 1 else {
            throw give(up: lost())
        }
        try flush()
        let deadline = Deadline(in: timeout)
        var refusal: PostgreSQLError?
        while let result = try nextResult(deadline) {
            switch Self.answer(result) {
            case .failure(let error): refusal = refusal ?? error
            case .success: break
            case .leftOut, .end, .sync, .takesRows: throw give(up: outOfOrder)
            }
        }
        guard unsafe PQenterPipelineMode(handle) == 1 else { throw give(up: lost()) }
        guard let refusal else { return }
        state.scriptFailed()
        throw refusal.kind == .refused ? noted(refusal) : give(up: refusal)
    }

    // MARK: COPY

    /// Begins a COPY FROM STDIN and waits until the server takes rows. Until ``endCopy(takingBack:)`` nothing else is sent.
    ///
    /// - Throws: the first failure of what was sent before, or why the server takes no rows. Then the pipeline goes on.
    func beginCopy(_ text: String) throws(PostgreSQLError) {
        if state.isWaiting { try answer() }
        try state.beginCopy()
        guard unsafe PQexitPipelineMode(handle) == 1, unsafe PQsendQuery(handle, text) == 1 else {
            throw give(up: lost())
        }
        try flush()
        _ = try takeCopyAnswers()
    }

    /// Sends some of the bytes of the rows, from `start` on, and waits until they are on their way: as the server takes no more
    /// than it can do with, no more wait here.
    func sendRows(_ bytes: [UInt8], from start: Int) throws(PostgreSQLError) {
        try state.sendRows(isEnd: false)
        try put { handle in
            unsafe bytes.withUnsafeBytes { bytes in
                let rows = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
                return unsafe PQputCopyData(
                    handle, rows.assumingMemoryBound(to: CChar.self).baseAddress, Int32(rows.count))
            }
        }
        try flush()
    }

    /// Ends the rows and waits for what the server says of them; the pipeline goes on.
    ///
    /// - Parameter reason: has the server take back those that were sent, with an error; `nil`: they are to stay.
    /// - Returns: how many rows the server took.
    /// - Throws: what it had against one of them; it has taken none then.
    func endCopy(takingBack reason: String? = nil) throws(PostgreSQLError) -> Int {
        try state.sendRows(isEnd: true)
        try put { handle in unsafe PQputCopyEnd(handle, reason) }
        try flush()
        return try takeCopyAnswers()
    }

    /// Gives something of a COPY to libpq, as soon as that has room for it.
    @safe private func put(_ call: (OpaquePointer) -> Int32) throws(PostgreSQLError) {
        let deadline = Deadline(in: answerTimeout)
        while true {
            let result = unsafe call(handle)
            guard result >= 0 else { throw give(up: lost()) }
            if result > 0 { return }
            guard wait(for: descriptor, [.readable, .writable], until: deadline) else { throw give(up: timedOut) }
            guard unsafe PQconsumeInput(handle) == 1 else { throw give(up: lost()) }
        }
    }

    /// Takes answers until the server takes rows, or the COPY is over, after which the pipeline goes on.
    ///
    /// - Returns: how many rows the server took.
    private func takeCopyAnswers() throws(PostgreSQLError) -> Int {
        let deadline = Deadline(in: answerTimeout)
        var rows = 0
        while true {
            let result = try nextResult(deadline)
            switch state.take(Self.answer(result)) {
            case .readOn: rows = result?.changes ?? 0
            case .sendRows: return 0
            case .settle(let failure):
                guard unsafe PQenterPipelineMode(handle) == 1 else { throw give(up: lost()) }
                guard let failure else { return rows }
                throw noted(failure)
            case .keep, .keepNumber: throw give(up: outOfOrder)
            case .fail(let error): throw give(up: error)
            }
        }
    }

    private var outOfOrder: PostgreSQLError {
        PostgreSQLError(.protocolViolation, "The database sent an answer out of order.")
    }

    private var timedOut: PostgreSQLError {
        PostgreSQLError(.timedOut, "The database did not answer within \(answerTimeout).")
    }

    private func lost() -> PostgreSQLError { PostgreSQLError(connection: message) }

    @discardableResult
    private func give(up error: PostgreSQLError) -> PostgreSQLError {
        state.lose(error)
        return error
    }

    /// Gives it up: what is out has no answer any more.
    func abandon(_ error: PostgreSQLError) {
        state.lose(error)
    }
}
