import GRDB
import Logging
import SQLStorage
import Store

/// What is wrong with the database.
extension SQLiteEngine {
    func note(_ error: any Error, isWrite: Bool) -> StoreError {
        health.note(StoreError(database: error), isWrite: isWrite)
    }

    /// Damage is remembered from the reads and writes that met it, while other parts may work. A disk that failed to read
    /// can look like damage: so what is remembered is checked against the whole file, beside the callers, and forgotten
    /// if it is sound.
    func state(_ probe: StoreError?) -> StoreState {
        var state = StoreState()
        if let probe {
            state.isWritable = false
            if !probe.isDamage { state.problems.append(probe.message) }
        }
        if state.isWritable, let text = health.failedWriteText {
            state.isWritable = false
            state.problems.append(text)
        }
        if let text = health.damageText {
            state.problems.append(text)
            searchForDamage()
        }
        return state
    }

    /// Reads the whole file in search of the damage, unless that is going on or was done a moment ago.
    ///
    /// A task without a parent: who asks for the state has a deadline, and the file may be large.
    private func searchForDamage() {
        guard health.beginExamination() else { return }
        Task {
            let isSound: Bool
            do {
                isSound = try await pool.read { db in
                    try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok"
                }
            } catch {
                _ = note(error, isWrite: false)
                isSound = false
            }
            health.endExamination(isSound: isSound)
        }
    }

    /// A table with its indexes in one snapshot, so that a running gateway goes on and its log does not grow meanwhile.
    func examine() async throws -> [(text: String, count: Int)] {
        let tables = try await pool.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM pragma_table_list
                    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name
                    """)
        }
        var found: [(text: String, count: Int)] = []
        for table in tables {
            let (damage, orphans) = try await pool.read { db in
                (
                    try String.fetchAll(db, sql: "PRAGMA quick_check(\(table.quotedDatabaseIdentifier))"),
                    try Row.fetchAll(db, sql: "PRAGMA foreign_key_check(\(table.quotedDatabaseIdentifier))").count
                )
            }
            for text in damage where text != "ok" { found.append(("damage in the file: \(text)", 1)) }
            found.append(("rows that refer to nothing", orphans))
        }
        return found
    }

    /// The last column of each row as text, read from the writing connection: tests ask for pragmas and query plans
    /// with it.
    func lastColumn(of sql: String) async throws -> [String] {
        try await pool.write { db in
            let statement = try db.makeStatement(sql: sql)
            statement.setUncheckedArguments([])
            return try Row.fetchAll(statement).map { row in
                let value: DatabaseValue = row[row.count - 1]
                if case .string(let text) = value.storage { return text }
                return value.description
            }
        }
    }
}
