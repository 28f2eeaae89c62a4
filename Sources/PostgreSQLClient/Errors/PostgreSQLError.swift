/// Why the database did not do what it was asked. No text of it has a parameter's value.
package struct PostgreSQLError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of errors.
    package enum Kind: Sendable, Equatable {
        /// The server refused a statement; the connection goes on.
        case refused
        /// There is no connection, or it was lost; nothing of an open transaction is left.
        case disconnected
        /// The connection was lost with a COMMIT on its way, and what became of it can't be told.
        case outcomeUnknown
        /// No answer in time; the connection was given up.
        case timedOut
        /// Too much waits for a connection already.
        case busy
        /// The pool was closed.
        case closed
        /// The caller's statement and its parameters or columns don't fit.
        case misuse
        /// The settings of the connection are wrong.
        case configuration
        /// The server sent what it must not.
        case protocolViolation
    }

    /// The kind.
    package let kind: Kind
    /// The server's code, if it gave one.
    package let state: SQLState?
    /// A sentence, or what the server said.
    package let message: String
    /// The constraint that was broken.
    package let constraint: String?
    /// The table that a broken constraint belongs to.
    package let table: String?
    /// The number of the row of a COPY that it is about, from 1.
    package let row: Int?

    /// Describes an error.
    package init(
        _ kind: Kind, _ message: String, state: SQLState? = nil, constraint: String? = nil, table: String? = nil,
        row: Int? = nil
    ) {
        self.kind = kind
        self.message = message
        self.state = state
        self.constraint = constraint
        self.table = table
        self.row = row
    }

    /// The message, with the server's code.
    package var description: String {
        state.map { "\(message) (SQLSTATE \($0.code))" } ?? message
    }

    /// With the text of the statement, if the server could not make anything of it (class 42 of its codes): a text has no
    /// values.
    func naming(_ text: String) -> PostgreSQLError {
        guard kind == .refused, let state, state.code.hasPrefix("42") else { return self }
        return PostgreSQLError(kind, "\(message) in: \(text)", state: state, constraint: constraint, table: table)
    }

    /// Whether the connection is of no use after it.
    var endsConnection: Bool {
        switch kind {
        case .disconnected, .outcomeUnknown, .timedOut, .closed, .protocolViolation: true
        case .refused: state?.endsConnection ?? false
        case .busy, .misuse, .configuration: false
        }
    }

    /// Whether the same transaction may succeed when it runs again: others were in its way.
    package var isPassing: Bool { kind == .refused && (state?.isPassing ?? false) }
}
