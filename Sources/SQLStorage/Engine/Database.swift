/// One connection of a database, within a transaction or snapshot. Used on its own thread only, for as long as the closure
/// that it was given to runs.
///
/// The steps write SQL that every engine takes; an engine rewrites a text once, when it prepares it:
/// - `?` and `?2` are parameters, in the order in which they are bound
/// - `numbers(?)` and `texts(?)` stand in FROM for a table with the columns `key` and `value`: places and elements of an
///   array, in no order; `pairs(?)` has `key`, `first` and `second`
/// - `greatest(a, b)` and `least(a, b)`, of values that are not NULL
/// - `numbering` is a table with the columns `name` and `seq`: the highest number that a row of the table `message` or
///   `event` ever had; without a row for a table that never had any
/// - `INDEXED BY name` and `NOT INDEXED` name the index that a planner has to use, where it can be told
/// - `a CROSS JOIN b ON …` has the loop over `a` outside, and `+m.project` asks no index, where a planner can be told
///
/// Flags and truth values are compared with numbers (`is_held = 1`); a truth value as a result reads as 0 or 1. A
/// statement that may have many rows says LIMIT: an engine may take all rows of a statement at once.
package protocol Database: AnyObject {
    /// What differs between engines beside that.
    var dialect: Dialect { get }

    /// Whether the transaction can't go on, by an error that a step may have caught.
    var isAborted: Bool { get }

    /// The prepared statement of a text, always the same object for one text of a connection; ready to be bound.
    func statement(_ sql: String) throws -> any PreparedStatement

    /// As ``statement(_:)``, of a text that inserts one row and ends without RETURNING: for
    /// ``PreparedStatement/insert()``, which gives the number in the column `key`.
    func insertion(_ sql: String, key: String) throws -> any PreparedStatement

    /// Which connection of its session it is: another number after each time that it was made anew.
    var connectionNumber: Int { get }

    /// Runs an insertion for each row of a batch, as ``PreparedStatement/post()`` does.
    ///
    /// - Parameter sql: has `VALUES (?, …)`, a parameter for each column; behind it at most what is done on a conflict, of
    ///   which the rows of a batch have none among each other.
    func post(_ sql: String, _ rows: RowBatch) throws

    /// As ``post(_:_:)``, of rows that are worth to be waited for: an engine may have a faster way. Its error may say which row
    /// it is about.
    ///
    /// - Parameter sql: ends with `VALUES (?, …)`.
    func insertMany(_ sql: String, _ rows: RowBatch) throws

    /// Runs `body` so that a failure takes back its own changes only. What was posted in it has its answer when this
    /// returns.
    func inSavepoint<Value>(_ body: () throws -> Value) throws -> Value
}

extension Database {
    package var connectionNumber: Int { 0 }

    package func post(_ sql: String, _ rows: RowBatch) throws {
        let statement = try statement(sql)
        for row in 0..<rows.count {
            rows.bind(row: row, to: statement)
            try statement.post()
        }
    }

    package func insertMany(_ sql: String, _ rows: RowBatch) throws { try post(sql, rows) }
}

/// What steps have to know of the engine.
package enum Dialect: Sendable {
    case sqlite
    case postgreSQL

    /// Whether the column of a registration's token holds bytes only: 0x00 before a seed, 0x01 before the UTF-8 of a
    /// text. Otherwise a seed is a BLOB and a text is TEXT.
    var marksTokens: Bool { self == .postgreSQL }

    /// Whether `r.token` is one that does not begin with the FID, as the condition of an index.
    var isWholeToken: String {
        switch self {
        case .sqlite: "typeof(r.token) = 'text' AND substr(r.token, 1, 1) <> ':'"
        case .postgreSQL: "get_byte(r.token, 0) = 1 AND get_byte(r.token, 1) <> 58"
        }
    }

    /// Whether a statement for several rows is cheaper than as many statements, each of which goes to a server.
    var joinsRows: Bool { self == .postgreSQL }

    /// For so many recipients a shard of a broadcast is made, up to ``PreparedMessage/shardLimit``: where nodes share the store,
    /// for a quarter of a page, so that even a small one is sent by several.
    var shardSize: Int64 {
        switch self {
        case .sqlite: 50_000
        case .postgreSQL: 250
        }
    }

    /// Whether the ledger is kept by days, so that bounds of ids leave out most of it.
    var dividesLedger: Bool { self == .postgreSQL }

    /// Whether a row that gets shorter leaves its page as it is, so that pages are joined only when the row is written anew.
    var shortensInPlace: Bool { self == .sqlite }
}
