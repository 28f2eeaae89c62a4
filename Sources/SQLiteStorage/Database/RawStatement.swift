import GRDB
import GRDBSQLite

/// A prepared statement of the hot path. SQLite's own functions bind its parameters and read its columns: GRDB would make
/// an array and a boxed value for each.
///
/// It comes from the cache of its connection and is used on the thread of that connection, within one transaction.
/// Parameters are bound in their order, then the statement runs; after that it is ready for the next time.
@safe final class RawStatement {
    /// Keeps the handle alive.
    private let statement: Statement
    private let handle: OpaquePointer
    private var place: Int32 = 0
    /// The first error of binding.
    private var code = SQLITE_OK

    /// SQLite copies what is bound.
    private static var copies: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    /// - Throws: the database's error when the statement can't be prepared.
    init(_ sql: String, _ db: Database) throws {
        statement = try db.cachedStatement(sql: sql)
        unsafe handle = statement.sqliteStatement
    }

    // MARK: Parameters

    func bind(_ value: Int64) {
        place += 1
        note(unsafe sqlite3_bind_int64(handle, place, value))
    }

    func bind(_ value: Int) { bind(Int64(value)) }

    func bind(_ value: Bool) { bind(value ? 1 as Int64 : 0) }

    func bind(_ value: Int64?) {
        if let value { bind(value) } else { bindNull() }
    }

    func bindNull() {
        place += 1
        note(unsafe sqlite3_bind_null(handle, place))
    }

    func bind(_ text: String) {
        var text = text
        text.withUTF8 { bytes in unsafe bind(text: bytes) }
    }

    func bind(_ text: String?) {
        if let text { bind(text) } else { bindNull() }
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

    private func note(_ result: Int32) {
        if code == SQLITE_OK { code = result }
    }

    // MARK: Running

    /// Runs a statement that gives no row, and says how many it changed, not counting what triggers change.
    @discardableResult
    func run() throws -> Int {
        while try next() {}
        return Int(unsafe sqlite3_changes(sqlite3_db_handle(handle)))
    }

    /// Runs a statement that inserts a row, and gives its number.
    func insert() throws -> Int64 {
        try run()
        return unsafe sqlite3_last_insert_rowid(sqlite3_db_handle(handle))
    }

    /// What `read` makes of the first row; `nil`: there is none.
    func first<Value>(_ read: (RawStatement) throws -> Value?) throws -> Value? {
        guard try next() else { return nil }
        defer { reset() }
        return try read(self)
    }

    /// Steps to the next row; `false`: there is none, and the statement is ready for the next time.
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

    /// Makes it ready for the next time before its last row.
    func reset() {
        // The error of the last step, which was told.
        _ = unsafe sqlite3_reset(handle)
        (place, code) = (0, SQLITE_OK)
    }

    // MARK: Columns, counted from 0

    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

    func number(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    func optionalNumber(_ column: Int32) -> Int64? { isNull(column) ? nil : number(column) }

    func text(_ column: Int32) -> String { optionalText(column) ?? "" }

    func optionalText(_ column: Int32) -> String? {
        guard let start = unsafe sqlite3_column_text(handle, column) else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}
