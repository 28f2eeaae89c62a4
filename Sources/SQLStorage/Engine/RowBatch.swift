/// Rows that are going to be inserted together, with a value for each parameter of the insertion.
package final class RowBatch: ParameterBinder {
    /// A value of a row.
    package enum Value: Sendable {
        case null
        case number(Int64)
        case text(String)
        /// A text that is there as bytes.
        case utf8([UInt8])
        case blob([UInt8])
    }

    /// Behind an insertion: a row that conflicts with one that is there is left out.
    package static let unlessThere = " ON CONFLICT DO NOTHING"
    /// So many rows go in one statement: more saves nothing and holds memory on both sides.
    static let limit = 1000
    /// So many rows are worth to be waited for, see ``Database/insertMany(_:_:)``.
    static let least = 50

    private var values: [Value] = []
    /// How many rows it has.
    package private(set) var count = 0

    package init() {}

    package func bind(_ value: Int64) { values.append(.number(value)) }

    package func bindNull() { values.append(.null) }

    package func bind(_ text: String) { values.append(.text(text)) }

    package func bind(utf8 bytes: [UInt8]) { values.append(.utf8(bytes)) }

    package func bind(blob bytes: [UInt8]) { values.append(.blob(bytes)) }

    /// Ends a row: the next value is the first one of another.
    package func endRow() {
        count += 1
        precondition(values.count.isMultiple(of: count), "rows of different lengths")
    }

    /// Posts the rows there are, and begins anew, also after an error.
    func post(_ sql: String, to db: any Database) throws {
        guard count > 0 else { return }
        defer { removeAll() }
        try db.post(sql, self)
    }

    func removeAll() {
        values.removeAll(keepingCapacity: true)
        count = 0
    }

    /// How many values a row has.
    package var width: Int { count == 0 ? 0 : values.count / count }

    /// The values of a column, row by row.
    package func column(_ place: Int) -> some Collection<Value> {
        (0..<count).lazy.map { [values, width] row in values[row * width + place] }
    }

    /// Binds the values of a row.
    package func bind(row: Int, to binder: any ParameterBinder) {
        for value in values[row * width..<(row + 1) * width] {
            switch value {
            case .null: binder.bindNull()
            case .number(let number): binder.bind(number)
            case .text(let text): binder.bind(text)
            case .utf8(let bytes): binder.bind(utf8: bytes)
            case .blob(let bytes): binder.bind(blob: bytes)
            }
        }
    }
}
