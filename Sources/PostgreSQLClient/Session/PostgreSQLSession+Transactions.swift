import Glibc
import Logging

extension PostgreSQLSession {
    // MARK: Savepoints

    /// Runs `body` so that a failure takes back its own changes only. What was posted in it has its answer when this
    /// returns.
    package func inSavepoint<Value>(_ body: () throws -> Value) throws -> Value {
        let connection = try connected()
        savepoints += 1
        defer { savepoints -= 1 }
        let name = "step_\(savepoints)"
        try connection.post(text: "SAVEPOINT \(name)")
        do {
            let value = try body()
            try execute("RELEASE SAVEPOINT \(name)")
            return value
        } catch {
            if connection.failure == nil {
                settle(connection)
                try connection.post(text: "ROLLBACK TO SAVEPOINT \(name)", .rollBackToSavepoint)
                try execute("RELEASE SAVEPOINT \(name)")
            }
            throw error
        }
    }

    /// Waits for the answers to what was posted. What it failed with is taken back.
    private func settle(_ connection: Connection) {
        guard connection.isWaiting else { return }
        do throws(PostgreSQLError) {
            try connection.answer()
        } catch {
            logger.trace("What was posted failed", metadata: metadata(error))
        }
    }

    // Statements that are prepared once, as they run for each transaction.
    private static var commit: String { "COMMIT" }
    private static var begin: String { "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE" }
    private static var beginOfSnapshot: String { "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" }

    // MARK: Snapshots

    /// Runs `body` in a snapshot: it sees what was committed when its first statement ran, and changes nothing.
    ///
    /// - Throws: only when `body` was not run.
    package func inSnapshot(_ body: () -> Void) throws(PostgreSQLError) {
        try connect()
        let connection = try connected()
        let (begin, commit) = try (statement(Self.beginOfSnapshot), statement(Self.commit))
        // It goes out with the first statement.
        try begin.post(.begin)
        body()
        // What fails behind them would keep its end from being done.
        settle(connection)
        guard connection.failure == nil else { return }
        do throws(PostgreSQLError) {
            try commit.post(.rollBack)
            // Its answer is read before the next one.
            try connection.sync()
        } catch {
            logger.debug("A snapshot did not end", metadata: metadata(error))
        }
    }

    // MARK: Transactions

    /// Attempts to run a transaction that others are in the way of, or whose connection was lost before its end.
    package static var attemptLimit: Int { 5 }

    /// Runs `body` in a transaction, which is committed when this returns `true`.
    ///
    /// It runs again when others were in its way, or the connection was lost before its end: `body` must change nothing but
    /// the database.
    ///
    /// - Parameters:
    ///   - lock: the key of the advisory lock that it holds from its beginning to its end.
    ///   - attempts: how often it is tried.
    ///   - mark: what it leaves to be found by; `nil`: its number only, which a server that crashed may have given to another
    ///     transaction.
    ///   - body: says whether to commit; after an error or `false` nothing is changed.
    /// - Returns: what `body` said.
    /// - Throws: the error of `body`, or why the transaction could not begin or be committed: `.outcomeUnknown` only when
    ///   what became of it can't be told.
    package func inTransaction(
        lock: Int64, attempts: Int = PostgreSQLSession.attemptLimit, mark: CommitMark? = nil,
        _ body: () throws -> Bool
    ) throws -> Bool {
        var attempt = 1
        while true {
            do {
                return try runTransaction(lock: lock, mark, body)
            } catch let repetition as Repetition {
                guard attempt < attempts else { throw repetition.cause }
                logger.debug("A transaction runs again", metadata: metadata(repetition.cause))
                if repetition.cause.state == .lockTimeout { endSilentHolder(of: lock) }
                if repetition.pauses { Self.pause(for: .milliseconds(Int.random(in: 5...(10 << attempt)))) }
                attempt += 1
            }
        }
    }

    /// Ends the server's process that holds the lock of all writers and has waited for its client for seconds: of a node that was
    /// stopped or cut off in the middle of a transaction. The server itself waits 30 s between two statements, and without an
    /// end where it has got only a part of what belongs together.
    private func endSilentHolder(of lock: Int64) {
        do throws(PostgreSQLError) {
            let statement = try statement(
                """
                SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
                WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND (CAST(l.classid AS bigint) << 32) + CAST(l.objid AS bigint) = $1
                    AND a.application_name = current_setting('application_name')
                    AND a.wait_event = 'ClientRead' AND a.query_start < clock_timestamp() - interval '3 s'
                """)
            statement.bind(lock)
            defer { statement.reset() }
            while try statement.next() {
                logger.warning("A gateway that was silent in the middle of a write was cut off by another one")
            }
        } catch {
            logger.debug("Who holds the lock of writers was not found", metadata: metadata(error))
        }
    }

    /// Nothing of a transaction is left, and it may run again.
    private struct Repetition: Error {
        let cause: PostgreSQLError
        /// Others need time to get out of the way.
        let pauses: Bool
    }

    private func runTransaction(
        lock: Int64, _ mark: CommitMark?, _ body: () throws -> Bool
    ) throws -> Bool {
        try connect()
        let connection = try connected()
        let result = Result { try attempt(lock: lock, mark, connection, body) }
        if case .success(true) = result { return true }
        if case .failure(let error as PostgreSQLError) = result, error.kind == .outcomeUnknown { throw error }
        if let failure = connection.failure {
            guard failure.kind == .disconnected else { throw failure }
            throw Repetition(cause: failure, pauses: false)
        }
        if let ending = connection.endingFailure {
            // Another of the servers may take writes by now.
            connection.abandon(ending)
            throw ending
        }
        rollBack(connection)
        if let passing = connection.passingFailure { throw Repetition(cause: passing, pauses: true) }
        return try result.get()
    }

    /// - Returns: whether it is committed.
    private func attempt(
        lock: Int64, _ mark: CommitMark?, _ connection: Connection, _ body: () throws -> Bool
    ) throws -> Bool {
        let (begin, commit) = try (statement(Self.begin), statement(Self.commit))
        let number = try statement("SELECT pg_current_xact_id() FROM pg_advisory_xact_lock($1)")
        number.bind(lock)
        try begin.post(.begin)
        try number.askNumber()
        // A step may have caught an error that ends all of it.
        guard try body(), connection.passingFailure == nil else { return false }
        try mark?.leave()
        if connection.transactionNumber == nil { try connection.answer() }
        guard let transaction = connection.transactionNumber else {
            throw connection.failure ?? PostgreSQLError(.protocolViolation, "The transaction has no number.")
        }
        let trace = CommitTrace(
            transaction: transaction, timeline: timeline, process: connection.serverProcess)
        do throws(PostgreSQLError) {
            try commit.post(.commit)
            try connection.answer()
            guard connection.isCommitUnreplicated else { return true }
        } catch {
            guard connection.failure != nil, connection.isCommitUnanswered else { throw error }
            return try isCommitted(trace, mark, after: error)
        }
        // It is committed, and a standby that takes over now may not have it.
        return try isCommitted(
            trace, mark, after: PostgreSQLError(.timedOut, "The wait for a standby was ended at the server."))
    }

    private func rollBack(_ connection: Connection) {
        settle(connection)
        guard connection.failure == nil else { return }
        do throws(PostgreSQLError) {
            try connection.post(text: "ROLLBACK", .rollBack)
            try connection.answer()
        } catch {
            // A transaction that is left open would be gone on with.
            connection.abandon(error)
            logger.debug("A transaction was not rolled back", metadata: metadata(error))
        }
    }

    // MARK: COMMIT without an answer

    /// How long what became of a COMMIT is asked for: longer than a server needs to see that a client is gone.
    private static var resolvingTimeout: Duration { .seconds(30) }

    /// Finds out whether a transaction was committed whose COMMIT had no answer.
    ///
    /// - Throws: `.outcomeUnknown` when that can't be told.
    private func isCommitted(
        _ trace: CommitTrace, _ mark: CommitMark?, after failure: PostgreSQLError
    ) throws(PostgreSQLError) -> Bool {
        let deadline = Deadline(in: Self.resolvingTimeout)
        logger.notice("A commit had no answer", metadata: metadata(failure))
        while !deadline.isOver {
            do throws(PostgreSQLError) {
                try connect()
                switch try outcome(of: trace, mark) {
                case .committed:
                    try replicate()
                    return true
                case .rolledBack: return false
                case .running: try terminate(trace)
                case nil: throw unknown(failure)
                }
            } catch {
                if error.kind == .outcomeUnknown || error.kind == .configuration { throw unknown(failure) }
            }
            // The other side gives no signal when it is there again.
            Self.pause(for: max(.milliseconds(20), pause ?? .zero))
        }
        throw unknown(failure)
    }

    /// Commits something of no meaning, which waits for the standbys that commits wait for: these have all that was committed
    /// before, too. Without any it is on the disk at once.
    private func replicate() throws(PostgreSQLError) {
        try execute("SELECT pg_logical_emit_message(TRUE, 'herald', '')")
    }

    private func unknown(_ failure: PostgreSQLError) -> PostgreSQLError {
        PostgreSQLError(
            .outcomeUnknown,
            "The connection was lost while a transaction was committed, and whether it was can't be told: "
                + failure.message, state: failure.state)
    }

    /// - Returns: `nil`: it can't be told.
    private func outcome(of trace: CommitTrace, _ mark: CommitMark?) throws(PostgreSQLError) -> CommitOutcome? {
        let statement = try statement("SELECT pg_xact_status($1)")
        statement.bind(trace.transaction)
        let status: String?
        do throws(PostgreSQLError) {
            status = try statement.next() && !statement.isNull(0) ? statement.text(0) : nil
            statement.reset()
        } catch {
            // A number that was not given yet: by a server that crashed, or a standby that was promoted, and never heard of it.
            guard error.state == .invalidParameter else { throw error }
            return .rolledBack
        }
        let outcome = CommitOutcome(status: status, timeline: timeline, trace: trace)
        guard let mark, outcome != .running else { return outcome }
        return try mark.isThere() ? .committed : .rolledBack
    }

    /// Ends the server's process that runs it, if it waits for a client that can't reach it any more, with the lock of all
    /// writers. One that is at its COMMIT, and may wait for a standby, is left to it.
    private func terminate(_ trace: CommitTrace) throws(PostgreSQLError) {
        let statement = try statement(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE pid = $1 AND (state <> 'active' OR wait_event = 'ClientRead')
                AND backend_xid::text = ($2::bigint & 4294967295)::text
            """)
        statement.bind(Int64(trace.process))
        statement.bind(trace.transaction)
        while try statement.next() {}
    }

    /// Lets time pass on the session's own thread: for others to get out of the way, or a server to come back, which give
    /// no signal.
    private static func pause(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        _ = unsafe nanosleep(&time, nil)
    }
}
