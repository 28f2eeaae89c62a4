import SQLStorage

/// A table of a store, as the transfer of its rows needs it.
struct TransferTable {
    /// How the values of a column are compared.
    enum Kind {
        case number
        /// Texts and bytes.
        case length
        /// What a token is made of, which has a byte more here than in the embedded store.
        case token
    }

    /// A column.
    struct Column {
        let name: String
        let kind: Kind
        /// The place in the primary key, from 1; 0: it is not in it.
        let place: Int
    }

    /// Its name.
    let name: String
    /// In the order of the table.
    let columns: [Column]

    /// Rows that are read at a time.
    static let page = 500

    private func list(_ names: [String]) -> String {
        names.map { "\"\($0)\"" }.joined(separator: ", ")
    }

    /// The columns of the primary key, in its order: their places in ``columns``.
    var key: [Int] {
        columns.indices.filter { columns[$0].place > 0 }.sorted { columns[$0].place < columns[$1].place }
    }

    /// The next rows in the order of the primary key.
    func select(isFirst: Bool) -> String {
        let keys = list(key.map { columns[$0].name })
        let marks = Array(repeating: "?", count: key.count).joined(separator: ", ")
        let condition = isFirst ? "" : "WHERE (\(keys)) > (\(marks)) "
        return "SELECT \(list(columns.map(\.name))) FROM \"\(name)\" \(condition)ORDER BY \(keys) LIMIT \(Self.page)"
    }

    /// Inserts a row.
    var insertion: String {
        let values = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        return "INSERT INTO \"\(name)\" (\(list(columns.map(\.name)))) VALUES (\(values))"
    }

    /// Sums over all rows, which are the same in both stores: how many rows, and of each column how many values, and the
    /// sum of the numbers (of their rests, which can't grow too large) or of the lengths in bytes.
    ///
    /// - Parameter isEmbedded: whether the statement is for the embedded store.
    func sums(isEmbedded: Bool) -> String {
        let sums = columns.flatMap { column -> [String] in
            let name = "\"\(column.name)\""
            let value =
                switch column.kind {
                case .number: "\(name) % 1000003"
                case .length: isEmbedded ? "length(CAST(\(name) AS BLOB))" : "octet_length(\(name))"
                case .token: isEmbedded ? "1 + length(CAST(\(name) AS BLOB))" : "octet_length(\(name))"
                }
            let sum = "coalesce(sum(\(value)), 0)"
            return ["count(\(name))", isEmbedded ? sum : "CAST(\(sum) AS bigint)"]
        }
        return "SELECT \((["count(*)"] + sums).joined(separator: ", ")) FROM \"\(name)\""
    }
}

extension TransferTable {
    /// Beside the tables of the store: what only this engine has.
    private static let own: Set<String> = [
        "node", "provider_token", "schema_version", "project_version", "stored_project",
    ]

    private static let columnList = """
        SELECT CAST(c.relname AS text), CAST(a.attname AS text), CAST(format_type(a.atttypid, NULL) AS text),
            CAST(coalesce(array_position(p.conkey, a.attnum), 0) AS bigint)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        LEFT JOIN pg_constraint p ON p.conrelid = c.oid AND p.contype = 'p'
        WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND c.relnamespace = CAST(current_schema() AS regnamespace) AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY c.relname, a.attnum
        """

    private static let references = """
        SELECT CAST(c.relname AS text), CAST(r.relname AS text) FROM pg_constraint f
        JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class r ON r.oid = f.confrelid
        WHERE f.contype = 'f' AND c.relnamespace = CAST(current_schema() AS regnamespace) AND c.oid <> r.oid
        """

    /// All tables of a store, each behind those that its rows name.
    static func all(in db: any Database) throws -> [TransferTable] {
        var columns: [String: [Column]] = [:]
        let list = try db.statement(columnList)
        while try list.next() {
            let (table, name) = (list.text(0), list.text(1))
            guard !own.contains(table) else { continue }
            let kind: Kind =
                if list.text(2) == "bigint" {
                    .number
                } else if table == "registration" && name == "token" {
                    .token
                } else {
                    .length
                }
            columns[table, default: []].append(Column(name: name, kind: kind, place: Int(list.number(3))))
        }
        var needs: [String: Set<String>] = [:]
        let references = try db.statement(references)
        while try references.next() { needs[references.text(0), default: []].insert(references.text(1)) }
        var tables: [TransferTable] = []
        var placed: Set<String> = []
        func place(_ name: String) {
            guard placed.insert(name).inserted, let columns = columns[name] else { return }
            for needed in (needs[name] ?? []).sorted() { place(needed) }
            tables.append(TransferTable(name: name, columns: columns))
        }
        for name in columns.keys.sorted() { place(name) }
        return tables
    }
}
