/// A row of a result. Columns are read by position: names would be looked up for every row.
///
/// That of a ``RowCursor`` is valid until the cursor goes on.
package struct Row {
    private let columns: any ColumnReader

    init(_ columns: any ColumnReader) {
        self.columns = columns
    }

    /// How many columns it has.
    var count: Int { columns.columnCount }

    /// What a column holds. One that may be NULL is read as an optional: of another, NULL is a fault of the program.
    subscript<Value: SQLColumn>(column: Int) -> Value {
        precondition(!columns.isNull(column), "column \(column) is NULL")
        return Value(columns, column)
    }

    subscript<Value: SQLColumn>(column: Int) -> Value? {
        columns.isNull(column) ? nil : Value(columns, column)
    }

    /// What a column holds, whatever that is.
    func value(_ column: Int) -> SQLValue { columns.value(column) }

    func isNull(_ column: Int) -> Bool { columns.isNull(column) }

    var dialect: Dialect { columns.dialect }
}

/// What a column can be read as.
protocol SQLColumn {
    /// Reads a column that is not NULL.
    init(_ columns: any ColumnReader, _ column: Int)
}

extension Int64: SQLColumn {
    init(_ columns: any ColumnReader, _ column: Int) { self = columns.number(column) }
}

extension Int: SQLColumn {
    init(_ columns: any ColumnReader, _ column: Int) { self = Int(columns.number(column)) }
}

extension Bool: SQLColumn {
    init(_ columns: any ColumnReader, _ column: Int) { self = columns.number(column) != 0 }
}

extension String: SQLColumn {
    init(_ columns: any ColumnReader, _ column: Int) { self = columns.text(column) }
}

extension Array: SQLColumn where Element == UInt8 {
    init(_ columns: any ColumnReader, _ column: Int) { self = columns.bytes(column) }
}

/// The rows of a statement, one after the other. When it goes before the last one, the statement is ready for the next
/// time. While it is in use, nothing else runs the same statement.
final class RowCursor {
    private let statement: any PreparedStatement
    private var isAtEnd = false

    /// - Parameter statement: one whose parameters are bound.
    init(_ statement: any PreparedStatement) {
        self.statement = statement
    }

    deinit {
        if !isAtEnd { statement.reset() }
    }

    /// The next row; `nil`: there is none.
    func next() throws -> Row? {
        guard !isAtEnd else { return nil }
        do {
            if try statement.next() { return Row(statement) }
        } catch {
            isAtEnd = true
            throw error
        }
        isAtEnd = true
        return nil
    }
}
