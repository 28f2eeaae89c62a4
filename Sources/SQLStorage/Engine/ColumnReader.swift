/// The columns of one row, counted from 0: of the row that a statement stands at, or of a copy.
///
/// Numbers, flags (0 or 1), times and truth values read as numbers. Of a column that is NULL, ``number(_:)`` is 0 and
/// ``text(_:)`` and ``bytes(_:)`` are empty.
package protocol ColumnReader: AnyObject {
    var dialect: Dialect { get }

    /// How many columns the row has.
    var columnCount: Int { get }

    func isNull(_ column: Int) -> Bool

    func number(_ column: Int) -> Int64

    func text(_ column: Int) -> String

    /// A BLOB, or the UTF-8 of a text.
    func bytes(_ column: Int) -> [UInt8]

    /// What the column holds, whatever that is.
    func value(_ column: Int) -> SQLValue
}

extension ColumnReader {
    package func optionalNumber(_ column: Int) -> Int64? { isNull(column) ? nil : number(column) }

    package func optionalText(_ column: Int) -> String? { isNull(column) ? nil : text(column) }

    package func optionalBytes(_ column: Int) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// A copy that stays when its statement goes on.
    func copy() -> StoredRow { StoredRow((0..<columnCount).map { value($0) }, dialect) }
}

/// A copy of a row.
final class StoredRow: ColumnReader {
    private let values: [SQLValue]
    let dialect: Dialect

    init(_ values: [SQLValue], _ dialect: Dialect) {
        self.values = values
        self.dialect = dialect
    }

    var columnCount: Int { values.count }

    func isNull(_ column: Int) -> Bool { values[column] == .null }

    func number(_ column: Int) -> Int64 {
        if case .number(let number) = values[column] { number } else { 0 }
    }

    func text(_ column: Int) -> String {
        switch values[column] {
        case .text(let text): text
        case .number(let number): String(number)
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        case .null: ""
        }
    }

    func bytes(_ column: Int) -> [UInt8] {
        switch values[column] {
        case .blob(let bytes): bytes
        case .text(let text): Array(text.utf8)
        case .number, .null: []
        }
    }

    func value(_ column: Int) -> SQLValue { values[column] }
}
