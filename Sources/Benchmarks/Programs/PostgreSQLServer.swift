import Foundation

/// A PostgreSQL server of a benchmark's own: a new cluster in a directory, with every commit synced, reached by a Unix
/// socket. Ended and removed with the value.
final class PostgreSQLServer {
    /// Who runs the server's programs instead of root, whom they refuse; also the name of the group.
    private static let user = "postgres"
    private static let database = "herald"

    private let directory: String
    private let programs: String
    private let server: Program

    /// Connections that it takes.
    static let connectionLimit = 200

    /// Makes a cluster in `directory` and starts the server on `cores`.
    init(in directory: String, cores: String) throws {
        programs = try Self.findPrograms()
        self.directory = try Self.makeDirectory(in: directory)
        let data = self.directory + "/data"
        let runner = try Self.runner(owning: self.directory)
        try Self.run(
            runner + [
                programs + "/initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C",
                "--no-sync",
            ])
        // Shared memory as a server of some size has it; what is not said is PostgreSQL's own choice.
        let settings = [
            "listen_addresses=", "unix_socket_directories=\(self.directory)", "shared_buffers=256MB",
            "max_connections=\(Self.connectionLimit)", "max_wal_size=4GB", "log_min_messages=log",
            "log_checkpoints=off", "log_autovacuum_min_duration=-1",
        ]
        let command = runner + [programs + "/postgres", "-D", data] + settings.flatMap { ["-c", $0] }
        server = try Program(
            try Program.find("taskset", package: "util-linux"),
            ["-c", cores, "/bin/sh", "-c", #"exec "$0" "$@" 2>&1"#] + command)
        try waitUntilReady()
        _ = try query("CREATE DATABASE \(Self.database)", in: "postgres")
    }

    deinit {
        // Its own processes end before its files go.
        server.end(by: SIGQUIT)
        Cleanup.remove(folder: directory)
    }

    private func waitUntilReady() throws {
        var lines: [String] = []
        repeat {
            lines.append(server.readLine())
            if lines.last?.contains("ready to accept connections") == true { return }
        } while lines.last?.isEmpty == false
        throw BenchFailure("PostgreSQL did not start:\n\(lines.joined(separator: "\n"))")
    }

    // MARK: Programs

    /// The directory of the newest version from 15 on.
    private static func findPrograms() throws -> String {
        let places =
            (15..<30).reversed().map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/local/pgsql/bin", "/usr/bin"]
        guard let place = places.first(where: { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }) else {
            throw BenchFailure("initdb is missing: it comes with the Debian package postgresql-15")
        }
        return place
    }

    /// The name of a Unix socket has at most 107 bytes.
    private static func makeDirectory(in directory: String) throws -> String {
        let path = "\(directory)/herald-pg-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
        guard path.utf8.count < 90 else { throw BenchFailure("--directory: its name is too long for a Unix socket") }
        Cleanup.add(folder: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// What stands before the server's programs, to whose user a directory is given.
    private static func runner(owning directory: String) throws -> [String] {
        guard geteuid() == 0 else { return [] }
        try FileManager.default.setAttributes(
            [.ownerAccountName: user, .groupOwnerAccountName: user], ofItemAtPath: directory)
        let setpriv = try Program.find("setpriv", package: "util-linux")
        return [setpriv, "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"]
    }

    @discardableResult
    private static func run(_ command: [String]) throws -> String {
        let program = try Program(command[0], Array(command.dropFirst()), showsErrors: true)
        let output = program.waitForOutput()
        guard program.status == 0 else { throw BenchFailure("\(command.joined(separator: " ")) failed:\n\(output)") }
        return output
    }

    // MARK: Database

    /// Of its database, as `store.url` has it.
    var url: String { "postgresql://postgres@/\(Self.database)?host=\(directory)" }

    /// The rows of a statement, `|` between columns.
    func query(_ sql: String, in database: String = PostgreSQLServer.database) throws -> String {
        try Self.run([
            programs + "/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-U", "postgres",
            "-d",
            database, "-c", sql,
        ]).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Transactions that ended in the database, reads too.
    func transactions() throws -> Int {
        // Idle sessions report what they did within ten seconds; a question makes one report at once.
        let counts = try query("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'herald'")
        guard let count = Int(counts) else { throw BenchFailure("PostgreSQL told no transactions: \(counts)") }
        return count
    }

    /// Makes its database anew.
    func empty() throws {
        _ = try query("DROP DATABASE \(Self.database) WITH (FORCE)", in: "postgres")
        _ = try query("CREATE DATABASE \(Self.database)", in: "postgres")
    }

    /// User and system time of all its processes, also of those that have ended.
    func processorTime() throws -> Duration {
        let children = "/proc/\(server.id)/task/\(server.id)/children"
        let text = FileManager.default.contents(atPath: children) ?? Data()
        let processes = String(decoding: text, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
        // One that ends between the two looks is none that served the gateway.
        return try processes.reduce(endedTime()) { sum, process in
            sum + ((try? ProcessUsage(of: process).processor) ?? .zero)
        }
    }

    /// User and system time of children that have ended (proc(5), `/proc/pid/stat`, `cutime` and `cstime`).
    private func endedTime() throws -> Duration {
        let text = String(
            decoding: FileManager.default.contents(atPath: "/proc/\(server.id)/stat") ?? Data(), as: UTF8.self)
        // The name of the program stands in parentheses and may have blanks.
        let fields = text.split(separator: ")").last?.split(separator: " ").map { Int($0) } ?? []
        guard fields.count > 14, let user = fields[13], let system = fields[14] else {
            throw BenchFailure("the kernel tells nothing about PostgreSQL")
        }
        return .milliseconds((user + system) * 1000 / sysconf(Int32(_SC_CLK_TCK)))
    }

    // MARK: Bare insertions

    /// What clients of libpq get that do nothing but insert a row of the size of a message in a transaction of its own.
    struct BareInserts {
        let perSecond: Double
        /// In microseconds.
        let latency: Percentiles
    }

    /// Runs pgbench for some seconds.
    func insertRows(clients: Int, seconds: Int, cores: String) throws -> BareInserts {
        _ = try query("DROP TABLE IF EXISTS bare", in: "postgres")
        _ = try query("CREATE TABLE bare (id bigserial PRIMARY KEY, body text NOT NULL)", in: "postgres")
        let (script, log) = (directory + "/insert.sql", directory + "/latencies")
        try Data("INSERT INTO bare (body) VALUES (repeat('x', 500));\n".utf8).write(to: URL(filePath: script))
        let cost = try Program.measured(
            [
                // It ends by an alarm, which may be blocked in the mask that it inherits.
                try Program.find("env", package: "coreutils"), "--default-signal=ALRM", programs + "/pgbench", "-n",
                "-M", "prepared", "-c", String(clients), "-j", "1", "-T", String(seconds), "-f", script, "-l",
                "--log-prefix=\(log)", "-h", directory, "-U", "postgres", "postgres",
            ], cores: cores)
        guard let rate = Self.rate(in: cost.output) else { throw BenchFailure("pgbench printed:\n\(cost.output)") }
        return BareInserts(perSecond: rate, latency: try takeLatencies(log))
    }

    /// `tps = 1234.5 (without initial connection time)`
    private static func rate(in output: String) -> Double? {
        for line in output.split(separator: "\n") where line.hasPrefix("tps = ") {
            return line.dropFirst("tps = ".count).split(separator: " ").first.flatMap { Double($0) }
        }
        return nil
    }

    /// The third field of a line of pgbench's logs is a transaction's time in microseconds.
    private func takeLatencies(_ prefix: String) throws -> Percentiles {
        var histogram = Histogram()
        let name = URL(filePath: prefix).lastPathComponent
        for file in try FileManager.default.contentsOfDirectory(atPath: directory) where file.hasPrefix(name) {
            let path = directory + "/" + file
            let data = FileManager.default.contents(atPath: path) ?? Data()
            for line in [UInt8](data).split(separator: UInt8(ascii: "\n")) {
                let fields = line.split(separator: UInt8(ascii: " "))
                guard fields.count > 2, let time = Int64(String(decoding: fields[2], as: UTF8.self)) else { continue }
                histogram.add(nanoseconds: time * 1000)
            }
            try FileManager.default.removeItem(atPath: path)
        }
        return histogram.percentiles
    }
}
