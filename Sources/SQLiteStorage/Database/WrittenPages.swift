import GRDB
import GRDBSQLite

/// What connections write to the log.
enum WrittenPages {
    /// The pages that a connection wrote to the log since this was asked last (sqlite.org/c3ref/c_dbstatus_options.html,
    /// `SQLITE_DBSTATUS_CACHE_WRITE`). To be called on the connection's own thread.
    static func take(_ db: Database) -> Int {
        guard let connection = unsafe db.sqliteConnection else { return 0 }
        var (count, highest): (Int32, Int32) = (0, 0)
        // Without a way to fail for a connection that is open.
        _ = unsafe sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_WRITE, &count, &highest, 1)
        return Int(count)
    }
}
