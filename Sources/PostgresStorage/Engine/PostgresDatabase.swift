import Logging
import PostgreSQLClient
import SQLStorage

/// A session within a transaction or snapshot, as the steps of the store see it.
final class PostgresDatabase: Database {
    private let session: PostgreSQLSession

    init(_ session: PostgreSQLSession) {
        self.session = session
    }

    var dialect: Dialect { .postgreSQL }

    var isAborted: Bool { session.isAborted }

    var connectionNumber: Int { session.connectionNumber }

    func statement(_ sql: String) throws -> any PreparedStatement { try session.statement(sql) }

    func insertion(_ sql: String, key: String) throws -> any PreparedStatement {
        try session.statement("\(sql) RETURNING \(key)")
    }

    func post(_ sql: String, _ rows: RowBatch) throws {
        let statement = try session.arrayStatement(sql)
        bind(rows, to: statement)
        try statement.post()
    }

    func insertMany(_ sql: String, _ rows: RowBatch) throws {
        try session.copy(sql) { copy in
            for row in 0..<rows.count {
                rows.bind(row: row, to: copy)
                try copy.endRow()
            }
        }
    }

    private func bind(_ rows: RowBatch, to statement: PostgreSQLStatement) {
        for column in 0..<rows.width { statement.bind(elements: rows.column(column).map(ArrayElement.init)) }
    }

    func inSavepoint<Value>(_ body: () throws -> Value) throws -> Value { try session.inSavepoint(body) }
}

extension ArrayElement {
    fileprivate init(_ value: RowBatch.Value) {
        switch value {
        case .null: self = .null
        case .number(let number): self = .number(number)
        case .text(let text): self = .text(text)
        case .utf8(let bytes): self = .utf8(bytes)
        case .blob(let bytes): self = .blob(bytes)
        }
    }
}

/// A session that reads.
struct PostgresReader: ReadConnection {
    let session: PostgreSQLSession

    func inSnapshot(_ body: (any Database) -> Void) throws {
        try session.inSnapshot { body(PostgresDatabase(session)) }
    }
}

/// The session that writes.
struct PostgresWriter: WriteConnection {
    let session: PostgreSQLSession
    let commits: CommitCount

    func inTransaction(_ body: (any Database) throws -> Bool) throws -> Bool {
        let isCommitted = try session.inTransaction(lock: PostgresEngine.writeLock, mark: commits.mark(session)) {
            try body(PostgresDatabase(session))
        }
        if isCommitted { commits.noteOwn() }
        return isCommitted
    }

    /// Answers to what was asked for last come with that of COMMIT.
    func inTransaction(
        _ body: (any Database) throws -> Bool, thenReading read: () throws -> Void
    ) throws -> TransactionEnd {
        var isComplete = false
        do {
            let isCommitted = try inTransaction { database in
                isComplete = false
                isComplete = try body(database)
                return isComplete
            }
            guard isCommitted else { return .undone }
        } catch let error as PostgreSQLError where isComplete && error.kind == .refused && !error.isPassing {
            // What was posted by one of its steps failed, and COMMIT was left out.
            return .undone
        }
        do {
            try read()
            return .committed(isRead: true)
        } catch {
            // The answers went with a connection whose COMMIT was found to have taken place, or they made no sense.
            session.logger.debug("Answers of a transaction were lost", metadata: ["error": "\(error)"])
            return .committed(isRead: false)
        }
    }

    func afterAnswers() {}
}
