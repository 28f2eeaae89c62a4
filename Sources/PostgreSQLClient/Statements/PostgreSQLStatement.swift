/// A prepared statement of one connection: its parameters are bound in their order, then it runs; after that it is ready
/// for the next time. Columns are read of the row that it stands at.
///
/// Used on the thread of its session, within one transaction or snapshot. An error of binding shows when it runs.
package final class PostgreSQLStatement {
    private let connection: Connection
    private let description: StatementDescription
    private let forms: [ColumnForm]
    private var parameters = ParameterBuffer()
    /// The number of the question that it was sent as ahead of time.
    private var question: Int?
    private var result: QueryResult?
    private var row = 0
    /// Numbers of columns that are `numeric`, of the row it stands at.
    private var numerics: [Int64]
    private let hasNumerics: Bool

    /// Has the server prepare the statement.
    init(_ text: String, on connection: Connection) throws(PostgreSQLError) {
        self.connection = connection
        description = try connection.prepare(text)
        var forms: [ColumnForm] = []
        for (index, type) in description.columns.enumerated() {
            guard let form = type.form else {
                throw PostgreSQLError(
                    .misuse, "Column \(index + 1) of a statement is \(type), which is not read: \(text)")
            }
            forms.append(form)
        }
        self.forms = forms
        hasNumerics = forms.contains(.numeric)
        numerics = Array(repeating: 0, count: hasNumerics ? forms.count : 0)
    }

    // MARK: Parameters

    /// The types of its parameters.
    var parameterTypes: [TypeID] { description.parameters }

    private var nextType: TypeID {
        // One too many is told when it runs.
        let place = parameters.count
        return place < description.parameters.count ? description.parameters[place] : .void
    }

    package func bind(_ number: Int64) { parameters.append(number, as: nextType) }

    package func bindNull() { parameters.appendNull() }

    package func bind(_ text: String) { parameters.append(text: text.utf8, as: nextType) }

    /// Binds a text that is there as bytes.
    package func bind(utf8 bytes: [UInt8]) { parameters.append(text: bytes, as: nextType) }

    package func bind(blob bytes: [UInt8]) { parameters.append(blob: bytes, as: nextType) }

    package func bind(numbers: [Int64]) { parameters.append(numbers: numbers, as: nextType) }

    package func bind(texts: [String]) { parameters.append(texts: texts, as: nextType) }

    package func bind(blobs: [[UInt8]]) { parameters.append(blobs: blobs, as: nextType) }

    /// Binds an array whose elements may be NULL.
    package func bind(elements: some Collection<ArrayElement>) { parameters.append(elements: elements, as: nextType) }

    private func checkParameters() throws(PostgreSQLError) {
        if let misfit = parameters.misfit { throw PostgreSQLError(.misuse, "In a statement \(misfit).") }
        guard parameters.count == description.parameters.count else {
            throw PostgreSQLError(
                .misuse,
                "A statement has \(description.parameters.count) parameters, and \(parameters.count) were bound.")
        }
    }

    // MARK: Running

    /// Runs it, and says how many rows it changed, not counting what triggers change.
    @discardableResult
    package func run() throws(PostgreSQLError) -> Int {
        defer { reset() }
        return try ask().changes
    }

    /// Sends it with the next statement that is waited for. What it fails with shows there.
    package func post() throws(PostgreSQLError) { try post(.none) }

    /// As ``post()``, of a statement that does this to the transaction.
    func post(_ step: ConnectionState.TransactionStep) throws(PostgreSQLError) {
        defer { reset() }
        try checkParameters()
        try connection.post(description, parameters, step)
    }

    /// Sends it with the next statement that is waited for. ``next()`` then gives its rows, within the same transaction.
    package func askAhead() throws(PostgreSQLError) {
        try checkParameters()
        question = try connection.askAhead(description, parameters)
        parameters.removeAll()
    }

    /// Steps to the next row, the first time by running it; `false`: there is none, and it is ready for the next time.
    package func next() throws(PostgreSQLError) -> Bool {
        let rows: QueryResult
        if let result {
            rows = result
            row += 1
        } else {
            do throws(PostgreSQLError) {
                rows = try ask()
            } catch {
                reset()
                throw error
            }
            (result, row) = (rows, 0)
        }
        guard row < rows.rowCount else {
            reset()
            return false
        }
        do throws(PostgreSQLError) {
            try checkRow(rows)
        } catch {
            reset()
            throw error
        }
        return true
    }

    /// Sends it behind the begin of a transaction, as what gives its number: see ``Connection/askNumber(_:_:)``.
    func askNumber() throws(PostgreSQLError) {
        defer { reset() }
        try checkParameters()
        try connection.askNumber(description, parameters)
    }

    private func ask() throws(PostgreSQLError) -> QueryResult {
        let result: QueryResult
        if let question {
            result = try connection.result(of: question)
        } else {
            try checkParameters()
            result = try connection.ask(description, parameters)
        }
        let isAsDescribed =
            result.columnCount == forms.count
            && forms.indices.allSatisfy { result.isBinary($0) && result.type($0) == description.columns[$0] }
        guard isAsDescribed else {
            let error = PostgreSQLError(.protocolViolation, "The database sent other columns than it had described.")
            connection.abandon(error)
            throw error
        }
        return result
    }

    /// Looks whether the values of a row have the lengths of their types, and reads those that may be too large.
    private func checkRow(_ rows: QueryResult) throws(PostgreSQLError) {
        for column in forms.indices where !rows.isNull(row, column) {
            guard forms[column].fits(rows.length(row, column)) else {
                let error = PostgreSQLError(.protocolViolation, "The database sent a value of a wrong length.")
                connection.abandon(error)
                throw error
            }
            guard hasNumerics, forms[column] == .numeric else { continue }
            guard let number = rows.withBytes(row, column, { unsafe WholeNumeric.decode($0) }) else {
                throw PostgreSQLError(
                    .misuse, "Column \(column + 1) of a statement is no whole number of 64 bits.")
            }
            numerics[column] = number
        }
    }

    /// Makes it ready for the next time before its last row. Idempotent.
    package func reset() {
        (question, result, row) = (nil, nil, 0)
        parameters.removeAll()
    }

    // MARK: Columns, counted from 0

    /// How many columns it has.
    package var columnCount: Int { forms.count }

    /// Whether a column has numbers, also those that stand for truth values.
    package func isNumber(_ column: Int) -> Bool {
        switch forms[column] {
        case .bool, .integer, .unsigned, .numeric: true
        case .text, .bytes, .nothing: false
        }
    }

    /// Whether a column has bytes that are no text.
    package func isBytes(_ column: Int) -> Bool { forms[column] == .bytes }

    package func isNull(_ column: Int) -> Bool {
        guard let result else { return true }
        return forms[column] == .nothing || result.isNull(row, column)
    }

    /// A number, or a truth value as 0 or 1; 0 for NULL and for what is none.
    package func number(_ column: Int) -> Int64 {
        guard let result, !result.isNull(row, column) else { return 0 }
        switch forms[column] {
        case .integer: return result.integer(row, column)
        case .unsigned: return result.integer(row, column) & 0xffff_ffff
        case .bool: return result.integer(row, column) == 0 ? 0 : 1
        case .numeric: return numerics[column]
        case .text, .bytes, .nothing: return 0
        }
    }

    /// A text; empty for NULL. A number in digits.
    package func text(_ column: Int) -> String {
        guard let result, !isNull(column) else { return "" }
        guard !isNumber(column) else { return String(number(column)) }
        return result.withBytes(row, column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Bytes, or the UTF-8 of a text; empty for NULL.
    package func bytes(_ column: Int) -> [UInt8] {
        guard let result, !isNull(column), !isNumber(column) else { return [] }
        return result.withBytes(row, column) { unsafe Array($0) }
    }
}
