/// The number of a data type in `pg_type`, for those that parameters and columns may have.
struct TypeID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    let rawValue: UInt32

    static let bool = TypeID(rawValue: 16)
    static let bytea = TypeID(rawValue: 17)
    static let name = TypeID(rawValue: 19)
    static let int8 = TypeID(rawValue: 20)
    static let int2 = TypeID(rawValue: 21)
    static let int4 = TypeID(rawValue: 23)
    static let text = TypeID(rawValue: 25)
    static let oid = TypeID(rawValue: 26)
    static let float8 = TypeID(rawValue: 701)
    static let unknown = TypeID(rawValue: 705)
    static let byteaArray = TypeID(rawValue: 1001)
    static let int2Array = TypeID(rawValue: 1005)
    static let int4Array = TypeID(rawValue: 1007)
    static let textArray = TypeID(rawValue: 1009)
    static let int8Array = TypeID(rawValue: 1016)
    static let varchar = TypeID(rawValue: 1043)
    static let timestamptz = TypeID(rawValue: 1184)
    static let numeric = TypeID(rawValue: 1700)
    static let void = TypeID(rawValue: 2278)
    static let xid8 = TypeID(rawValue: 5069)

    /// How a column of the type is read; `nil`: not at all.
    var form: ColumnForm? {
        switch self {
        case .bool: .bool
        case .int2: .integer(bytes: 2)
        case .int4: .integer(bytes: 4)
        case .int8, .xid8, .timestamptz: .integer(bytes: 8)
        case .oid: .unsigned
        case .numeric: .numeric
        case .text, .varchar, .name, .unknown: .text
        case .bytea: .bytes
        case .void: .nothing
        default: nil
        }
    }

    /// The type of the elements of an array.
    var element: TypeID? {
        switch self {
        case .byteaArray: .bytea
        case .int2Array: .int2
        case .int4Array: .int4
        case .int8Array: .int8
        case .textArray: .text
        default: nil
        }
    }

    var description: String {
        switch self {
        case .bool: "boolean"
        case .bytea: "bytea"
        case .int8: "bigint"
        case .int2: "smallint"
        case .int4: "integer"
        case .text: "text"
        case .numeric: "numeric"
        case .float8: "double precision"
        default: element.map { "\($0)[]" } ?? "type \(rawValue)"
        }
    }
}

/// How the bytes of a column are read (binary format).
enum ColumnForm: Equatable, Sendable {
    /// One byte; reads as 0 or 1.
    case bool
    /// Signed, the first byte is the highest. Times are microseconds since 2000.
    case integer(bytes: Int)
    /// Four bytes without a sign.
    case unsigned
    /// A number with any count of digits, of which whole ones of 64 bits can be read.
    case numeric
    /// UTF-8.
    case text
    /// As they are.
    case bytes
    /// A function's result without a value.
    case nothing

    /// Whether a value may have this many bytes.
    func fits(_ count: Int) -> Bool {
        switch self {
        case .bool: count == 1
        case .integer(let bytes): count == bytes
        case .unsigned: count == 4
        case .numeric: count >= 8 && count.isMultiple(of: 2)
        case .text, .bytes, .nothing: true
        }
    }
}
