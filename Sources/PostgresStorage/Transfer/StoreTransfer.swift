package import SQLStorage
package import Store

/// Copies the store of one directory, which no gateway has open, into a database without content.
///
/// All of it is one transaction: a transfer that ends before its end leaves nothing behind, and can begin anew. Each table
/// is compared when it is copied.
package struct StoreTransfer: Sendable {
    /// The embedded store.
    private let source: any StorageEngine
    private let target: any StorageEngine
    /// How much of a table goes into the database at a time.
    var limits = TransferPart.Limits()

    /// How far it is: the table, its rows so far, and how many there are.
    package typealias Progress = @Sendable (_ table: String, _ done: Int, _ total: Int) -> Void

    /// Prepares a transfer; both stores stay open.
    package init(from source: any StorageEngine, to target: any StorageEngine) {
        self.source = source
        self.target = target
    }

    /// Copies everything.
    ///
    /// - Returns: how many rows each table has.
    /// - Throws: ``StoreError``: `.inUse` when the database has content.
    package func run(progress: @escaping Progress) async throws(StoreError) -> [(table: String, rows: Int)] {
        do {
            return try await withCheckedThrowingContinuation { continuation in
                target.withWriter { connection in
                    continuation.resume(
                        with: Result {
                            var tables: [(table: String, rows: Int)] = []
                            _ = try connection.get().inTransaction { db in
                                tables = try copy(to: db, progress)
                                return true
                            }
                            return tables
                        })
                }
            }
        } catch {
            throw target.note(error, isWrite: true)
        }
    }

    private func copy(to db: any Database, _ progress: Progress) throws -> [(table: String, rows: Int)] {
        // It takes as long as it takes.
        for setting in ["statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"] {
            try Self.ask(db, "SELECT set_config('\(setting)', '0', TRUE)")
        }
        // Not one of the gateways, which cut each other off after a silence.
        try Self.ask(db, "SELECT set_config('application_name', 'herald move', TRUE)")
        let tables = try TransferTable.all(in: db)
        for table in tables {
            guard !Self.made.contains(table.name) else { continue }
            guard try Self.number(db, "SELECT count(*) FROM (SELECT 1 FROM \"\(table.name)\" LIMIT 1) x") == 0 else {
                throw StoreError(
                    .inUse, "The database has content (table \(table.name)); name one that no gateway has used.")
            }
        }
        for table in Self.made { try Self.run(db, "DELETE FROM \(table)") }
        var sums: [(table: String, rows: Int)] = []
        for table in tables {
            // What triggers would add is copied too.
            try Self.run(db, "ALTER TABLE \"\(table.name)\" DISABLE TRIGGER USER")
            try copy(table, to: db, progress)
            try Self.run(db, "ALTER TABLE \"\(table.name)\" ENABLE TRIGGER USER")
            sums.append((table.name, try compare(table, db)))
        }
        try goOn(db)
        return sums
    }

    /// Tables that have rows from the beginning.
    private static let made = ["meta", "digest_key"]

    private func copy(_ table: TransferTable, to db: any Database, _ progress: Progress) throws {
        let total = Int(try source.readAtOnce { try Self.number($0, "SELECT count(*) FROM \"\(table.name)\"") })
        var part = TransferPart(of: table, after: 0, limits: limits)
        var last: [SQLValue]?
        while true {
            let rows = try source.readAtOnce { db in try Self.page(of: table, after: last, in: db) }
            for row in rows { part.add(row) }
            let isLast = rows.count < TransferTable.page
            if !part.isEmpty, part.isFull || isLast {
                try part.insert(into: db)
                progress(table.name, part.end, total)
                part = TransferPart(of: table, after: part.end, limits: limits)
            }
            guard !isLast, let end = rows.last else { break }
            last = table.key.map { end[$0] }
        }
    }

    private static func page(of table: TransferTable, after last: [SQLValue]?, in db: any Database) throws
        -> [[SQLValue]]
    {
        let statement = try db.statement(table.select(isFirst: last == nil))
        for value in last ?? [] { value.bind(to: statement) }
        var rows: [[SQLValue]] = []
        while try statement.next() { rows.append(table.columns.indices.map { statement.value($0) }) }
        return rows
    }

    /// - Returns: how many rows the table has.
    private func compare(_ table: TransferTable, _ db: any Database) throws -> Int {
        func numbers(_ db: any Database, isEmbedded: Bool) throws -> [Int64] {
            let statement = try db.statement(table.sums(isEmbedded: isEmbedded))
            guard try statement.next() else { return [] }
            defer { statement.reset() }
            return (0...2 * table.columns.count).map { statement.number($0) }
        }
        let (before, after) = (
            try source.readAtOnce { try numbers($0, isEmbedded: true) }, try numbers(db, isEmbedded: false)
        )
        guard before == after else {
            throw StoreError(.failed, "The table \(table.name) is not the same after copying it: \(before) \(after)")
        }
        return Int(after.first ?? 0)
    }

    /// Has new rows get the numbers that the embedded store would give them.
    private func goOn(_ db: any Database) throws {
        let given = try source.readAtOnce { db in
            let statement = try db.statement("SELECT name, seq FROM sqlite_sequence")
            var given: [String: Int64] = [:]
            while try statement.next() { given[statement.text(0)] = statement.number(1) }
            return given
        }
        let columns = try db.statement(
            """
            SELECT CAST(c.relname AS text), CAST(a.attname AS text),
                CAST(pg_get_serial_sequence(quote_ident(c.relname), a.attname) AS text)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND c.relnamespace = CAST(current_schema() AS regnamespace) AND a.attidentity <> ''
            """)
        var sequences: [(table: String, column: String, sequence: String)] = []
        while try columns.next() { sequences.append((columns.text(0), columns.text(1), columns.text(2))) }
        for (table, column, sequence) in sequences {
            let newest = "coalesce((SELECT max(\"\(column)\") FROM \"\(table)\"), 0)"
            // Called, where numbers were given: it says which is the newest one.
            try Self.ask(
                db,
                """
                SELECT setval('\(sequence)', greatest(newest, 1), newest > 0)
                FROM (SELECT greatest(\(newest), CAST(\(given[table] ?? 0) AS bigint)) AS newest) n
                """)
        }
        try Self.run(
            db, "INSERT INTO meta (name, value) VALUES ('forgotten_events', \(given["event"] ?? 0))")
    }

    private static func run(_ db: any Database, _ sql: String) throws {
        try db.statement(sql).run()
    }

    /// Runs a statement for what it does; its row does not matter.
    private static func ask(_ db: any Database, _ sql: String) throws {
        let statement = try db.statement(sql)
        _ = try statement.next()
        statement.reset()
    }

    private static func number(_ db: any Database, _ sql: String) throws -> Int64 {
        let statement = try db.statement(sql)
        guard try statement.next() else { return 0 }
        defer { statement.reset() }
        return statement.number(0)
    }
}
