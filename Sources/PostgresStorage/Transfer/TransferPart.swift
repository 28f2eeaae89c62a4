import PostgreSQLClient
import SQLStorage
import Store

/// Rows of a table that go into the database together: so many that the database has work, and so few that their memory is
/// little and that an answer comes in time.
struct TransferPart {
    /// With as many rows or about as many bytes a part is full.
    struct Limits: Hashable, Sendable {
        var rows = 20_000
        var bytes = 8 << 20
    }

    private let table: TransferTable
    /// Rows of the table before these.
    private let start: Int
    private let rows = RowBatch()
    /// Of each row, what its primary key is.
    private var keys: [[SQLValue]] = []
    private var bytes = 0
    private let limits: Limits

    init(of table: TransferTable, after start: Int, limits: Limits) {
        self.table = table
        self.start = start
        self.limits = limits
    }

    /// How many rows of the table are copied with these.
    var end: Int { start + rows.count }

    var isEmpty: Bool { rows.count == 0 }

    var isFull: Bool { rows.count >= limits.rows || bytes >= limits.bytes }

    mutating func add(_ row: [SQLValue]) {
        for (column, value) in zip(table.columns, row) {
            let value = column.kind == .token ? Self.token(value) : value
            rows.bind(value)
            bytes += Self.size(of: value)
        }
        rows.endRow()
        keys.append(table.key.map { row[$0] })
    }

    /// A token's column as this engine has it.
    private static func token(_ value: SQLValue) -> SQLValue {
        switch value {
        case .blob(let bytes): .blob([0] + bytes)
        case .text(let text): .blob([1] + Array(text.utf8))
        case .number, .null: value
        }
    }

    private static func size(of value: SQLValue) -> Int {
        switch value {
        case .blob(let bytes): bytes.count
        case .text(let text): text.utf8.count
        case .number, .null: 8
        }
    }

    /// - Throws: ``StoreError`` that names the table and the row when the database does not take one.
    func insert(into db: any Database) throws {
        do {
            try db.insertMany(table.insertion, rows)
        } catch let error as PostgreSQLError {
            throw naming(error)
        }
    }

    /// With the rows that it is about, where it is about their values: the server names a row also when its disk is full.
    private func naming(_ error: PostgreSQLError) -> any Error {
        guard error.isAboutValues, error.row != nil || error.constraint != nil else { return error }
        let place =
            if let row = error.row, keys.indices.contains(row - 1) {
                "Row \(start + row)\(text(of: keys[row - 1]))"
            } else {
                "One of the rows \(start + 1) to \(end)"
            }
        return StoreError(
            .failed, "\(place) of the table \(table.name) is not taken by the database: \(error)", underlying: error)
    }

    /// A key by its numbers; texts and bytes of keys are not told.
    private func text(of key: [SQLValue]) -> String {
        let parts = zip(table.key, key).compactMap { place, value -> String? in
            guard case .number(let number) = value else { return nil }
            return "\(table.columns[place].name) \(number)"
        }
        return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    }
}

extension PostgreSQLError {
    /// Whether a value is what the database does not take: its form (class 22 of SQL states) or a constraint (class 23).
    fileprivate var isAboutValues: Bool {
        kind == .misuse || ["22", "23"].contains(state.map { String($0.code.prefix(2)) })
    }
}
