/// A prepared statement of one connection: its parameters are bound in their order, then it runs; after that it is ready
/// for the next time. At the row it stands at it is read as a ``ColumnReader``.
///
/// Used on the thread of its connection, within one transaction or snapshot. An error of binding shows when it runs.
package protocol PreparedStatement: ColumnReader, ParameterBinder {
    /// The rows of `numbers(?)`.
    func bind(numbers: [Int64])

    /// The rows of `texts(?)`.
    func bind(texts: [String])

    /// An array of BLOBs, where the engine has arrays.
    func bind(blobs: [[UInt8]])

    /// The rows of `pairs(?)`: first and second of each behind each other.
    func bind(pairs: [Int64])

    /// Runs a statement that gives no row, and says how many it changed, not counting what triggers change.
    @discardableResult
    func run() throws -> Int

    /// Runs a change whose count and rows no caller asks for. An engine may send it without waiting for the answer: what it
    /// fails with then shows with the next answer, at the end of its savepoint or at the commit.
    func post() throws

    /// Says that the rows are going to be read within the transaction. An engine may send it with the next statement that is
    /// waited for; ``next()`` is called before anyone else asks for the same text.
    func askAhead() throws

    /// Runs what ``Database/insertion(_:key:)`` gave.
    ///
    /// - Returns: the number of the row; `nil`: there was one that conflicts, and the statement says to do nothing then.
    func insert() throws -> Int64?

    /// Steps to the next row; `false`: there is none, and the statement is ready for the next time.
    func next() throws -> Bool

    /// Makes it ready for the next time before its last row. Idempotent.
    func reset()
}

extension PreparedStatement {
    func bind(_ arguments: SQLArguments) {
        for argument in arguments {
            if let argument { argument.bind(to: self) } else { bindNull() }
        }
    }

    /// What `read` makes of the first row; `nil`: there is none.
    func first<Value>(_ read: (any PreparedStatement) throws -> Value?) throws -> Value? {
        guard try next() else { return nil }
        defer { reset() }
        return try read(self)
    }
}
