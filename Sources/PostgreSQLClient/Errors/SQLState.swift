/// A code of five characters that the server gives an error (postgresql.org/docs/15/errcodes-appendix.html).
package struct SQLState: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The five characters.
    package let code: String

    /// Takes the characters.
    package init(_ code: String) {
        self.code = code
    }

    /// Takes the characters.
    package init(stringLiteral code: String) {
        self.code = code
    }

    package static let warning: SQLState = "01000"
    package static let uniqueViolation: SQLState = "23505"
    package static let serializationFailure: SQLState = "40001"
    package static let deadlock: SQLState = "40P01"
    package static let lockTimeout: SQLState = "55P03"
    /// By a timeout, or by an operator.
    package static let queryCancelled: SQLState = "57014"
    /// The server or an operator ended the connection.
    package static let adminShutdown: SQLState = "57P01"
    /// The server became a standby, or is one.
    package static let readOnlyTransaction: SQLState = "25006"
    package static let transactionAborted: SQLState = "25P02"
    package static let tooManyConnections: SQLState = "53300"
    package static let diskFull: SQLState = "53100"
    package static let outOfMemory: SQLState = "53200"
    package static let invalidParameter: SQLState = "22023"
    package static let undefinedTable: SQLState = "42P01"
    package static let undefinedDatabase: SQLState = "3D000"

    /// Whether the same transaction may succeed when it runs again. Not after a statement that took too long: it would take
    /// as long again, and the others of its transaction are to go on without it.
    var isPassing: Bool {
        [.serializationFailure, .deadlock, .lockTimeout].contains(self)
    }

    /// Whether the connection has to be replaced after it.
    var endsConnection: Bool {
        code.hasPrefix("08") || code.hasPrefix("57P") || self == .readOnlyTransaction || self == .idleInTransaction
    }

    /// The server ended a session that left its transaction open.
    static let idleInTransaction: SQLState = "25P03"

    /// Whether the server's text names the data that it is about.
    var tellsData: Bool { code.hasPrefix("22") }
}
