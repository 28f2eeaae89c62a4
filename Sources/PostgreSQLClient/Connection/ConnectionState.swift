import DequeModule

/// What a connection may do and which answers it waits for, as a value: no I/O, no clock. The connection feeds it events
/// and performs the actions that come back.
///
/// - **connecting**: nothing may be sent.
/// - **ready**: every answer came.
/// - **inPipeline**: statements are out. Their answers come in order, each with an end; those up to the next sync share the
///   fate of the first that fails.
/// - **copying**: a COPY is under way, outside of the pipeline, which has none (postgresql.org/docs/15/libpq-copy.html). The
///   server says whether it takes rows, then nothing until their end, then what became of them.
/// - **failed**: the connection was lost or is of no use; for the reason that is kept.
/// - **closed**: final.
///
/// What only we can do wrong traps; an answer that does not fit ends the connection.
struct ConnectionState {
    /// What is sent, and what becomes of its result.
    enum Request: Equatable {
        /// Has a result that is looked at for errors only.
        case statement(TransactionStep)
        /// Has a result that is kept under its number, until it is asked for.
        case question(Int)
        /// Has a result that is kept as the transaction's number.
        case transactionNumber
        /// Ends a segment: after an error the server goes on behind it (postgresql.org/docs/15/libpq-pipeline-mode.html).
        case sync
    }

    /// What a statement does to the transaction.
    enum TransactionStep: Equatable {
        case none, begin, commit, rollBack, rollBackToSavepoint
    }

    /// Where the transaction of the connection stands, as far as answers came.
    enum Transaction: Equatable {
        /// Statements stand alone.
        case none
        /// Between BEGIN and its end.
        case open
        /// After an error: only its end, or the return to a savepoint, is possible.
        case aborted
    }

    /// What came from the server.
    enum Answer {
        /// A statement succeeded: its command's tag.
        case success(String)
        /// A statement failed.
        case failure(PostgreSQLError)
        /// A statement was left out after a failure.
        case leftOut
        /// The answer to a statement is complete.
        case end
        /// A segment is complete.
        case sync
        /// The server takes the rows of a COPY.
        case takesRows
    }

    /// What the connection has to do after an answer.
    enum Action: Equatable {
        /// Read the next answer.
        case readOn
        /// Keep this result under the number of its question.
        case keep(Int)
        /// Keep this result as the transaction's number.
        case keepNumber
        /// Send the rows of the COPY, and their end.
        case sendRows
        /// All that was sent is answered; the first failure since the last time, if there was one.
        case settle(PostgreSQLError?)
        /// Give the connection up.
        case fail(PostgreSQLError)
    }

    private struct Pipeline {
        var expected: Deque<Request> = []
        /// The first statement that waits has its result, and its end is still to come.
        var hasResult = false
        /// The first failure since all was answered.
        var failure: PostgreSQLError?
        /// A statement since the last sync failed.
        var isSegmentFailed = false
    }

    private struct Copying {
        enum Step {
            /// Whether the server takes rows is still to come.
            case asked
            /// Rows may be sent.
            case taking
            /// The end of the rows was sent.
            case ended
        }

        var step = Step.asked
        /// It has its result, and the end of that is still to come.
        var hasResult = false
        var failure: PostgreSQLError?
    }

    private enum Phase {
        /// Next: ready, failed, closed.
        case connecting
        /// Next: inPipeline, copying, failed, closed.
        case ready
        /// Next: ready, failed, closed.
        case inPipeline(Pipeline)
        /// Next: ready, failed, closed.
        case copying(Copying)
        /// Next: closed.
        case failed(PostgreSQLError)
        /// Next: nothing.
        case closed
    }

    private var phase = Phase.connecting
    /// Where the transaction stands.
    private(set) var transaction = Transaction.none

    // MARK: What holds now

    /// Why nothing can be sent any more.
    var failure: PostgreSQLError? {
        switch phase {
        case .connecting, .ready, .inPipeline, .copying: nil
        case .failed(let error): error
        case .closed: PostgreSQLError(.closed, "The connection to the database is closed.")
        }
    }

    /// Whether answers are still to come.
    var isWaiting: Bool { if case .inPipeline = phase { true } else { false } }

    /// How many answers are still to come.
    var expectedCount: Int { if case .inPipeline(let pipeline) = phase { pipeline.expected.count } else { 0 } }

    // MARK: Events

    /// The connection stands.
    mutating func opened() {
        guard case .connecting = phase else { preconditionFailure("opened in \(phase)") }
        phase = .ready
    }

    /// Something is to be sent.
    ///
    /// - Throws: why that is not possible.
    mutating func send(_ request: Request) throws(PostgreSQLError) {
        switch phase {
        case .connecting: preconditionFailure("sent while connecting")
        case .ready: phase = .inPipeline(Pipeline(expected: [request]))
        case .inPipeline(var pipeline):
            // Not two copies of the queue.
            phase = .closed
            pipeline.expected.append(request)
            phase = .inPipeline(pipeline)
        case .copying: throw PostgreSQLError(.misuse, "A statement was sent in the middle of a COPY.")
        case .failed, .closed:
            if let failure { throw failure }
        }
    }

    /// A COPY is to be sent; every answer has come.
    ///
    /// - Throws: why that is not possible.
    mutating func beginCopy() throws(PostgreSQLError) {
        switch phase {
        case .ready: phase = .copying(Copying())
        case .copying: throw PostgreSQLError(.misuse, "A COPY was begun in the middle of another one.")
        case .connecting, .inPipeline: preconditionFailure("a COPY in \(phase)")
        case .failed, .closed:
            if let failure { throw failure }
        }
    }

    /// Rows of the COPY are to be sent.
    ///
    /// - Parameter isEnd: whether these are the last ones; or none, and those before are to be taken back.
    /// - Throws: why that is not possible.
    mutating func sendRows(isEnd: Bool) throws(PostgreSQLError) {
        if let failure { throw failure }
        guard case .copying(var copy) = phase, copy.step == .taking else { preconditionFailure("rows in \(phase)") }
        guard isEnd else { return }
        copy.step = .ended
        phase = .copying(copy)
    }

    /// An answer came.
    mutating func take(_ answer: Answer) -> Action {
        let action: Action
        switch phase {
        case .inPipeline(var pipeline):
            phase = .closed
            action = take(answer, &pipeline)
            phase = .inPipeline(pipeline)
        case .copying(var copy):
            action = take(answer, &copy)
            phase = .copying(copy)
        case .connecting, .ready, .failed, .closed: return violate("an answer to nothing")
        }
        switch action {
        case .settle: phase = .ready
        case .fail(let error): phase = .failed(error)
        case .readOn, .keep, .keepNumber, .sendRows: break
        }
        return action
    }

    private mutating func take(_ answer: Answer, _ pipeline: inout Pipeline) -> Action {
        guard let request = pipeline.expected.first else { return violate("an answer too many") }
        switch (answer, request) {
        case (.success(let tag), .statement(let step)) where !pipeline.hasResult:
            pipeline.hasResult = true
            return follow(step, tag, &pipeline)
        case (.success, .question(let number)) where !pipeline.hasResult:
            pipeline.hasResult = true
            return .keep(number)
        case (.success, .transactionNumber) where !pipeline.hasResult:
            pipeline.hasResult = true
            return .keepNumber
        case (.failure(let error), .sync):
            // Only what ends the connection comes here.
            return .fail(error)
        case (.failure(let error), _):
            // The server may fail a statement after its result, as a COMMIT never does.
            pipeline.hasResult = true
            return note(error, &pipeline)
        case (.leftOut, .statement), (.leftOut, .question), (.leftOut, .transactionNumber):
            pipeline.hasResult = true
            return pipeline.isSegmentFailed ? .readOn : violate("a statement left out without a failure")
        case (.end, .statement) where pipeline.hasResult, (.end, .question) where pipeline.hasResult,
            (.end, .transactionNumber) where pipeline.hasResult:
            pipeline.hasResult = false
            pipeline.expected.removeFirst()
            return .readOn
        case (.sync, .sync):
            pipeline.expected.removeFirst()
            pipeline.isSegmentFailed = false
            return pipeline.expected.isEmpty ? .settle(pipeline.failure) : .readOn
        case (.success, _), (.leftOut, _), (.end, _), (.sync, _), (.takesRows, _):
            return violate("an answer out of order")
        }
    }

    private mutating func take(_ answer: Answer, _ copy: inout Copying) -> Action {
        switch (answer, copy.step) {
        case (.takesRows, .asked) where !copy.hasResult:
            copy.step = .taking
            return .sendRows
        case (.success, .ended) where !copy.hasResult:
            copy.hasResult = true
            return .readOn
        case (.failure(let error), .asked), (.failure(let error), .ended):
            copy.hasResult = true
            if copy.failure == nil { copy.failure = error }
            return abort(error)
        case (.end, _) where copy.hasResult: return .settle(copy.failure)
        case (.success, _), (.failure, _), (.leftOut, _), (.end, _), (.sync, _), (.takesRows, _):
            return violate("an answer out of order")
        }
    }

    /// What a statement that succeeded did to the transaction.
    private mutating func follow(_ step: TransactionStep, _ tag: String, _ pipeline: inout Pipeline) -> Action {
        switch step {
        case .none: break
        case .begin: transaction = .open
        case .rollBack: transaction = .none
        case .rollBackToSavepoint: transaction = .open
        case .commit:
            transaction = .none
            // The end of a transaction that had failed: nothing of it is left.
            if tag != "COMMIT", pipeline.failure == nil {
                pipeline.failure = PostgreSQLError(
                    .refused, "The transaction was rolled back instead of committed.", state: .transactionAborted)
            }
        }
        return .readOn
    }

    private mutating func note(_ error: PostgreSQLError, _ pipeline: inout Pipeline) -> Action {
        if pipeline.failure == nil { pipeline.failure = error }
        pipeline.isSegmentFailed = true
        return abort(error)
    }

    /// What was sent failed, and with it the transaction.
    private mutating func abort(_ error: PostgreSQLError) -> Action {
        if transaction == .open { transaction = .aborted }
        return error.kind == .refused ? .readOn : .fail(error)
    }

    private func violate(_ what: String) -> Action {
        .fail(PostgreSQLError(.protocolViolation, "The database sent \(what)."))
    }

    /// Statements that were not sent through the pipeline failed.
    mutating func scriptFailed() {
        if transaction == .open { transaction = .aborted }
    }

    /// The connection was lost, or is given up.
    mutating func lose(_ error: PostgreSQLError) {
        switch phase {
        case .connecting, .ready, .inPipeline, .copying: phase = .failed(error)
        case .failed, .closed: break
        }
    }

    /// The connection is closed.
    mutating func close() {
        phase = .closed
    }
}
