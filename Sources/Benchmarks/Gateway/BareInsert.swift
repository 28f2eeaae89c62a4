import Foundation

/// SQLite alone, as durable as the store: rows of the size of a message, some in a commit that reaches the disk.
///
/// In Python, so that none of the store's own code is in what it is compared with.
struct BareInsert {
    private static let program = """
        import os, sqlite3, sys, time
        path, batch, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        rows = [(os.urandom(500),) for _ in range(batch)]
        begin, count = time.monotonic(), 0
        while time.monotonic() - begin < seconds:
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO message (body) VALUES (?)", rows)
            db.execute("COMMIT")
            count += batch
        print(count / (time.monotonic() - begin))
        """

    /// Rows in a second, `batch` in each commit; the database is made in `directory` and removed.
    static func rowsPerSecond(batch: Int, seconds: Double, in directory: String, cores: String) throws -> Double {
        let path = "\(directory)/bare-\(UUID().uuidString).db"
        defer {
            for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
                do {
                    try FileManager.default.removeItem(atPath: path + suffix)
                } catch {
                    show("\(path)\(suffix) could not be removed: \(error)")
                }
            }
        }
        let python = try Program.find("python3", package: "python3")
        let cost = try Program.measured([python, "-c", program, path, String(batch), String(seconds)], cores: cores)
        guard let rate = Double(cost.output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchFailure("python3 printed \(cost.output)")
        }
        return rate
    }
}
