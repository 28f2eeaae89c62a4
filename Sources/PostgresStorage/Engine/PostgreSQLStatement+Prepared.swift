package import PostgreSQLClient
package import SQLStorage

extension PostgreSQLStatement: PreparedStatement {
    package var dialect: Dialect { .postgreSQL }

    package func bind(pairs: [Int64]) { bind(numbers: pairs) }

    package func insert() throws -> Int64? {
        guard try next() else { return nil }
        defer { reset() }
        return number(0)
    }

    package func value(_ column: Int) -> SQLValue {
        if isNull(column) { return .null }
        if isNumber(column) { return .number(number(column)) }
        return isBytes(column) ? .blob(bytes(column)) : .text(text(column))
    }
}
