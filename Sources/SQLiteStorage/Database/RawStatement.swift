import GRDB
import GRDBSQLite
import JSON
import SQLStorage

/// A prepared statement. SQLite's own functions bind its parameters and read its columns: GRDB would make an array and a
/// boxed value for each.
///
/// It comes from the cache of its connection and is used on the thread of that connection, within one transaction.
@safe final class RawStatement: PreparedStatement {
    /// Keeps the handle alive.
    private let statement: Statement
    private let handle: OpaquePointer
    private var place: Int32 = 0
    /// The first error of binding.
    private var code = SQLITE_OK

    /// SQLite copies what is bound.
    private static var copies: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    /// - Throws: the database's error when the statement can't be prepared.
    init(_ sql: String, _ db: GRDB.Database) throws {
        statement = try db.cachedStatement(sql: sql)
        unsafe handle = statement.sqliteStatement
        // A reader that met a damaged row may have left it at that row.
        _ = unsafe sqlite3_reset(handle)
    }

    // MARK: Parameters

    func bind(_ value: Int64) {
        place += 1
        note(unsafe sqlite3_bind_int64(handle, place, value))
    }

    func bindNull() {
        place += 1
        note(unsafe sqlite3_bind_null(handle, place))
    }

    func bind(_ text: String) {
        var text = text
        text.withUTF8 { bytes in unsafe bind(text: bytes) }
    }

    /// Binds a text that is there as bytes.
    func bind(utf8 bytes: [UInt8]) {
        guard !bytes.isEmpty else { return bind("") }
        unsafe bytes.withUnsafeBufferPointer { bytes in unsafe bind(text: bytes) }
    }

    private func bind(text bytes: UnsafeBufferPointer<UInt8>) {
        place += 1
        note(
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                unsafe sqlite3_bind_text(handle, place, characters.baseAddress, Int32(characters.count), Self.copies)
            })
    }

    /// Binds a BLOB.
    func bind(blob bytes: [UInt8]) {
        place += 1
        guard !bytes.isEmpty else { return note(unsafe sqlite3_bind_zeroblob(handle, place, 0)) }
        note(
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe sqlite3_bind_blob(handle, place, bytes.baseAddress, Int32(bytes.count), Self.copies)
            })
    }

    func bind(numbers: [Int64]) { bind(array: numbers) { $0.append(contentsOf: String($1).utf8) } }

    func bind(texts: [String]) { bind(array: texts) { $0.append(contentsOf: JSONValue.string($1).bytes) } }

    /// As JSON, of texts of their hexadecimal digits.
    func bind(blobs: [[UInt8]]) {
        bind(texts: blobs.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() })
    }

    func bind(pairs: [Int64]) {
        bind(array: stride(from: 0, to: pairs.count, by: 2)) { text, place in
            text.append(contentsOf: "[\(pairs[place]),\(pairs[place + 1])]".utf8)
        }
    }

    /// Binds a JSON array, which `json_each` takes apart.
    private func bind<Elements: Sequence>(
        array elements: Elements, _ add: (_ text: inout [UInt8], Elements.Element) -> Void
    ) {
        var text = [UInt8(ascii: "[")]
        for element in elements {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            add(&text, element)
        }
        text.append(UInt8(ascii: "]"))
        bind(utf8: text)
    }

    private func note(_ result: Int32) {
        if code == SQLITE_OK { code = result }
    }

    // MARK: Running

    @discardableResult
    func run() throws -> Int {
        while try next() {}
        return Int(unsafe sqlite3_changes(sqlite3_db_handle(handle)))
    }

    func post() throws {
        while try next() {}
    }

    /// It runs with the first row that is read.
    func askAhead() {}

    func insert() throws -> Int64? {
        guard try run() > 0 else { return nil }
        return unsafe sqlite3_last_insert_rowid(sqlite3_db_handle(handle))
    }

    func next() throws -> Bool {
        let result = code == SQLITE_OK ? unsafe sqlite3_step(handle) : code
        if result == SQLITE_ROW { return true }
        defer { reset() }
        guard result == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: result),
                message: unsafe String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))))
        }
        return false
    }

    func reset() {
        // The error of the last step, which was told.
        _ = unsafe sqlite3_reset(handle)
        (place, code) = (0, SQLITE_OK)
    }

    // MARK: Columns

    let dialect = Dialect.sqlite

    var columnCount: Int { Int(unsafe sqlite3_column_count(handle)) }

    func isNull(_ column: Int) -> Bool { type(column) == SQLITE_NULL }

    func number(_ column: Int) -> Int64 { unsafe sqlite3_column_int64(handle, Int32(column)) }

    func text(_ column: Int) -> String {
        guard let start = unsafe sqlite3_column_text(handle, Int32(column)) else { return "" }
        let count = Int(unsafe sqlite3_column_bytes(handle, Int32(column)))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func bytes(_ column: Int) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, Int32(column)) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, Int32(column)))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    func value(_ column: Int) -> SQLValue {
        switch type(column) {
        case SQLITE_NULL: .null
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .blob(bytes(column))
        default: .number(number(column))
        }
    }

    private func type(_ column: Int) -> Int32 { unsafe sqlite3_column_type(handle, Int32(column)) }
}
