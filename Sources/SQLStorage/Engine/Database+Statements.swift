import Store

extension Database {
    /// The prepared statement of a text with its parameters.
    private func bound(_ sql: String, _ arguments: SQLArguments) throws -> any PreparedStatement {
        let statement = try statement(sql)
        statement.bind(arguments)
        return statement
    }

    /// A copy of the first row.
    func row(_ sql: String, _ arguments: SQLArguments = []) throws -> Row? {
        try bound(sql, arguments).first { Row($0.copy()) }
    }

    /// Copies of all rows. For few: others are read with ``cursor(_:_:)``.
    func rows(_ sql: String, _ arguments: SQLArguments = []) throws -> [Row] {
        let statement = try bound(sql, arguments)
        var rows: [Row] = []
        while try statement.next() { rows.append(Row(statement.copy())) }
        return rows
    }

    /// The rows, one after the other.
    func cursor(_ sql: String, _ arguments: SQLArguments = []) throws -> RowCursor {
        RowCursor(try bound(sql, arguments))
    }

    /// As ``cursor(_:_:)``, of rows that are read later: see ``PreparedStatement/askAhead()``.
    func ask(_ sql: String, _ arguments: SQLArguments = []) throws -> RowCursor {
        let statement = try bound(sql, arguments)
        try statement.askAhead()
        return RowCursor(statement)
    }

    /// The number in the first column of the first row; `nil`: there is no row, or it is NULL.
    func number(_ sql: String, _ arguments: SQLArguments = []) throws -> Int64? {
        try bound(sql, arguments).first { $0.optionalNumber(0) }
    }

    /// The text in the first column of the first row; `nil`: there is no row, or it is NULL.
    func text(_ sql: String, _ arguments: SQLArguments = []) throws -> String? {
        try bound(sql, arguments).first { $0.optionalText(0) }
    }

    /// The bytes in the first column of the first row; `nil`: there is no row, or they are NULL.
    func bytes(_ sql: String, _ arguments: SQLArguments = []) throws -> [UInt8]? {
        try bound(sql, arguments).first { $0.optionalBytes(0) }
    }

    /// What the first column of all rows holds.
    func column<Value: SQLColumn>(_ sql: String, _ arguments: SQLArguments = []) throws -> [Value] {
        let statement = try bound(sql, arguments)
        var values: [Value] = []
        while try statement.next() { values.append(Value(statement, 0)) }
        return values
    }

    /// The numbers in the first column of all rows.
    func numbers(_ sql: String, _ arguments: SQLArguments = []) throws -> [Int64] {
        try column(sql, arguments)
    }

    /// Runs a statement that changes rows, and says how many (not counting those that triggers change).
    @discardableResult
    func change(_ sql: String, _ arguments: SQLArguments = []) throws -> Int {
        try bound(sql, arguments).run()
    }

    /// Runs a change whose count no caller asks for, see ``PreparedStatement/post()``.
    func post(_ sql: String, _ arguments: SQLArguments = []) throws {
        try bound(sql, arguments).post()
    }

    /// Inserts rows: a few are posted, for many it waits.
    func insert(_ sql: String, _ rows: RowBatch) throws {
        if rows.count < RowBatch.least { try post(sql, rows) } else { try insertMany(sql, rows) }
    }

    /// Inserts a row and gives the number in its column `key`; `nil`: there was one that conflicts, and the statement
    /// says to do nothing then.
    func insertIfNew(_ sql: String, _ arguments: SQLArguments, key: String) throws -> Int64? {
        let statement = try insertion(sql, key: key)
        statement.bind(arguments)
        return try statement.insert()
    }

    /// Inserts a row and gives the number in its column `key`.
    func insert(_ sql: String, _ arguments: SQLArguments, key: String) throws -> Int64 {
        guard let number = try insertIfNew(sql, arguments, key: key) else {
            throw StoreError(.failed, "A row was not inserted.")
        }
        return number
    }
}
