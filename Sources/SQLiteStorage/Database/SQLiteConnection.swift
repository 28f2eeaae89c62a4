import GRDB
import SQLStorage
import Store

/// A connection of SQLite's, within one transaction or snapshot.
final class SQLiteConnection: SQLStorage.Database {
    /// The connection itself, for what steps do not ask for.
    let db: GRDB.Database
    private let texts: StatementTexts
    /// Those that were asked for. The connection keeps them prepared beyond the transaction.
    private var statements: [String: RawStatement] = [:]

    init(_ db: GRDB.Database, _ texts: StatementTexts) {
        self.db = db
        self.texts = texts
    }

    var dialect: Dialect { .sqlite }

    var isAborted: Bool { !db.isInsideTransaction }

    func statement(_ sql: String) throws -> any PreparedStatement {
        if let known = statements[sql] { return known }
        let statement = try RawStatement(texts[sql], db)
        statements[sql] = statement
        return statement
    }

    /// SQLite tells the number of a row that was inserted without being asked.
    func insertion(_ sql: String, key: String) throws -> any PreparedStatement { try statement(sql) }

    func inSavepoint<Value>(_ body: () throws -> Value) throws -> Value {
        var value: Value?
        try db.inSavepoint {
            value = try body()
            return .commit
        }
        guard let value else { throw StoreError(.failed, "A write was rolled back.") }
        return value
    }
}

extension SQLStorage.Database {
    /// The connection of SQLite's that it is.
    ///
    /// - Throws: `.failed` when it is another engine's: a fault of the program.
    var sqlite: GRDB.Database {
        get throws {
            guard let connection = self as? SQLiteConnection else {
                throw StoreError(.failed, "A connection of another database was given to SQLite.")
            }
            return connection.db
        }
    }
}
