import CPostgreSQL
import Glibc

/// A result of libpq with all of its rows. It is freed with this object; nothing of it is handed out.
@safe final class QueryResult {
    /// A field of an error.
    enum Field: Character {
        case state = "C", message = "M", constraint = "n", table = "t", severity = "V", context = "W"

        fileprivate var code: Int32 { Int32(rawValue.asciiValue ?? 0) }
    }

    private let handle: OpaquePointer

    /// Takes over a result.
    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    deinit { unsafe PQclear(handle) }

    /// What kind of answer it is.
    var status: ExecStatusType { unsafe PQresultStatus(handle) }

    var rowCount: Int { Int(unsafe PQntuples(handle)) }

    var columnCount: Int { Int(unsafe PQnfields(handle)) }

    /// The type of a column.
    func type(_ column: Int) -> TypeID { TypeID(rawValue: unsafe PQftype(handle, Int32(column))) }

    /// Whether a column is in the binary format.
    func isBinary(_ column: Int) -> Bool { unsafe PQfformat(handle, Int32(column)) == 1 }

    /// The types of the parameters of a statement that was described.
    var parameterTypes: [TypeID] {
        unsafe (0..<PQnparams(handle)).map { unsafe TypeID(rawValue: PQparamtype(handle, $0)) }
    }

    /// How many rows the statement changed.
    var changes: Int { Int(unsafe atol(PQcmdTuples(handle))) }

    /// The command, as `COMMIT`.
    var command: String { unsafe String(cString: PQcmdStatus(handle)) }

    func field(_ field: Field) -> String? {
        guard let text = unsafe PQresultErrorField(handle, field.code) else { return nil }
        return unsafe String(cString: text)
    }

    func isNull(_ row: Int, _ column: Int) -> Bool { unsafe PQgetisnull(handle, Int32(row), Int32(column)) != 0 }

    /// How many bytes a value has.
    func length(_ row: Int, _ column: Int) -> Int { Int(unsafe PQgetlength(handle, Int32(row), Int32(column))) }

    /// Gives the bytes of a value, which are valid until `body` returns.
    @safe func withBytes<Value>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let start = unsafe PQgetvalue(handle, Int32(row), Int32(column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: length(row, column)))
    }

    /// A signed number of up to eight bytes.
    func integer(_ row: Int, _ column: Int) -> Int64 {
        withBytes(row, column) { bytes in
            guard let first = unsafe bytes.first else { return 0 }
            return unsafe bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
        }
    }
}
