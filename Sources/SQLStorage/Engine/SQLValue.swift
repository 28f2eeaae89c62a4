/// What a column holds or a parameter is.
package enum SQLValue: Equatable, Sendable {
    case null
    case number(Int64)
    case text(String)
    case blob([UInt8])
}

/// What can be bound to a parameter.
package protocol SQLBindable {
    /// Binds it to the next parameter.
    func bind(to statement: any PreparedStatement)
}

extension SQLValue: SQLBindable {
    package func bind(to statement: any PreparedStatement) { statement.bind(self) }
}

extension Int64: SQLBindable {
    package func bind(to statement: any PreparedStatement) { statement.bind(self) }
}

extension Int: SQLBindable {
    package func bind(to statement: any PreparedStatement) { statement.bind(Int64(self)) }
}

extension Bool: SQLBindable {
    package func bind(to statement: any PreparedStatement) { statement.bind(self ? 1 as Int64 : 0) }
}

extension String: SQLBindable {
    package func bind(to statement: any PreparedStatement) { statement.bind(self) }
}

/// What an array may hold to be bound.
package protocol SQLElement {
    static func bind(_ elements: [Self], to statement: any PreparedStatement)
}

/// Bytes are a BLOB; numbers and texts are the rows of `numbers(?)` and `texts(?)`.
extension Array: SQLBindable where Element: SQLElement {
    package func bind(to statement: any PreparedStatement) { Element.bind(self, to: statement) }
}

extension UInt8: SQLElement {
    package static func bind(_ elements: [UInt8], to statement: any PreparedStatement) {
        statement.bind(blob: elements)
    }
}

extension Int64: SQLElement {
    package static func bind(_ elements: [Int64], to statement: any PreparedStatement) {
        statement.bind(numbers: elements)
    }
}

extension String: SQLElement {
    package static func bind(_ elements: [String], to statement: any PreparedStatement) {
        statement.bind(texts: elements)
    }
}

/// The parameters of a statement, in their order; `nil` is NULL.
package typealias SQLArguments = [(any SQLBindable)?]

/// The rows of `pairs(?)`.
struct NumberPairs: SQLBindable {
    private let numbers: [Int64]

    init(_ pairs: some Collection<(Int64, Int64)>) {
        var numbers: [Int64] = []
        numbers.reserveCapacity(2 * pairs.count)
        for (first, second) in pairs {
            numbers.append(first)
            numbers.append(second)
        }
        self.numbers = numbers
    }

    package func bind(to statement: any PreparedStatement) { statement.bind(pairs: numbers) }
}
