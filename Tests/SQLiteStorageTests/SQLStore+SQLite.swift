import GRDB
import Store
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

extension SQLStore {
    /// The engine of a store that SQLite has.
    var sqlite: SQLiteEngine {
        get throws { try #require(engine as? SQLiteEngine) }
    }

    /// The last column of each row as text, read in a transaction that writes: for pragmas and query plans.
    func lastColumn(of sql: String) async throws(StoreError) -> [String] {
        try await write { db in
            let statement = try db.sqlite.makeStatement(sql: sql)
            statement.setUncheckedArguments([])
            return try GRDB.Row.fetchAll(statement).map { row in
                let value: DatabaseValue = row[row.count - 1]
                if case .string(let text) = value.storage { return text }
                return value.description
            }
        }
    }
}
