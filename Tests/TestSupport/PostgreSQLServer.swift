import Foundation
import Glibc
import Synchronization

/// A PostgreSQL server of the tests' own: a cluster in a temporary directory, reached by a Unix socket there (any password
/// or none) and by a port of 127.0.0.1 (``password`` by SCRAM).
///
/// Tests share ``shared()`` and take a database each. One that restarts the server, or needs settings, starts its own.
/// A watcher ends the server and removes its files when the test process has ended, however that was.
package final class PostgreSQLServer: Sendable {
    /// Whether PostgreSQL's programs are here; they must not run as root, so root needs one who runs them.
    package static let isInstalled = PostgreSQLPrograms.directory != nil && PostgreSQLPrograms.runner != nil
    /// The password of the user `postgres`.
    package static let password = "horse battery"

    private static let starting = Mutex<Task<PostgreSQLServer, any Error>?>(nil)

    /// The directory of its socket.
    package let socketDirectory: String
    /// Its port on 127.0.0.1, which is part of the socket's name too.
    package let port: Int
    /// The disk of its own that its cluster is on, if it has one.
    package let disk: SmallDisk?
    private let settings: [String: String]
    private let programs: PostgreSQLPrograms
    private let process: Mutex<ChildProcess>
    private let watcher: ChildProcess
    private let lastDatabase = Mutex(0)

    /// The server that all tests of a process share: started by the first one that asks. Its files are in memory where
    /// there is room: a database is made and removed for each test, for which files are synced.
    package static func shared() async throws -> PostgreSQLServer {
        let task = starting.withLock { task in
            if let task { return task }
            let new = Task { try await PostgreSQLServer(isInMemory: true) }
            task = new
            return new
        }
        return try await task.value
    }

    /// Makes a cluster and starts a server on it; takes about two seconds.
    ///
    /// - Parameters:
    ///   - settings: beside those of tests, for `postgres -c`.
    ///   - isInMemory: whether its files are in memory if there is room.
    ///   - hasTLS: whether it has a certificate for 127.0.0.1, see ``certificate``; needs openssl.
    ///   - diskMegabytes: the size of a disk of its own for the cluster, see ``disk``; root alone can mount one that the
    ///     server may use.
    /// - Throws: ``ChildProcessError`` with the output of what failed.
    package init(
        settings: [String: String] = [:], isInMemory: Bool = false, hasTLS: Bool = false, diskMegabytes: Int? = nil
    ) async throws {
        var programs = try PostgreSQLPrograms()
        let directory = try Self.makeDirectory(isInMemory: isInMemory)
        socketDirectory = directory
        // Begins before there is something to remove.
        watcher = try ChildProcess("/bin/bash", ["-c", Self.watch, directory, String(getpid())])
        try programs.own(directory)
        if let diskMegabytes {
            let data = directory + "/data"
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
            let small = try await SmallDisk(path: data, megabytes: diskMegabytes)
            try programs.own(small.ownPath)
            programs.run(on: small)
            disk = small
        } else {
            disk = nil
        }
        self.programs = programs
        try await programs.makeCluster(in: directory, password: Self.password)
        let keys = hasTLS ? try await programs.makeKey(in: directory) : [:]
        self.settings = settings.merging(keys) { own, _ in own }
        let started = try await Self.start(programs, in: directory, settings: self.settings)
        port = started.port
        process = Mutex(started.process)
    }

    /// Makes a server that follows another one until ``promote()``, and answers reads meanwhile.
    package init(standbyOf primary: PostgreSQLServer) async throws {
        programs = try PostgreSQLPrograms()
        let directory = try Self.makeDirectory(isInMemory: false)
        socketDirectory = directory
        disk = nil
        watcher = try ChildProcess("/bin/bash", ["-c", Self.watch, directory, String(getpid())])
        try programs.own(directory)
        try await programs.copyCluster(of: primary.url(of: "postgres"), to: directory)
        settings = [:]
        let started = try await Self.start(programs, in: directory, settings: settings)
        port = started.port
        process = Mutex(started.process)
    }

    /// Starts a server on a port that is free.
    private static func start(
        _ programs: PostgreSQLPrograms, in directory: String, settings: [String: String]
    ) async throws -> (port: Int, process: ChildProcess) {
        for attempt in 0... {
            let port = Int.random(in: 20_000..<32_000)
            let process = try programs.startServer(in: directory, port: port, settings: settings)
            if await isReady(process) { return (port, process) }
            // Another program may have the port.
            guard attempt < 20, process.output.lines.contains(where: { $0.contains("could not create") }) else {
                throw ChildProcessError("no PostgreSQL server: \(process.output.lines)")
            }
        }
        throw ChildProcessError("no PostgreSQL server")
    }

    /// Ends the server, should it live, and removes its files when the process with the second argument has ended.
    private static let watch = """
        tail --pid="$1" -f /dev/null
        if [[ -f $0/data/postmaster.pid ]]; then
            server=$(head -n 1 "$0/data/postmaster.pid")
            kill -QUIT "$server" && tail --pid="$server" -f /dev/null
        fi
        rm -rf "$0"
        """

    /// The file of its certificate, which it has signed itself.
    package var certificate: String { PostgreSQLPrograms.certificate(in: socketDirectory) }

    /// The name is short: that of the socket has at most 107 bytes.
    private static func makeDirectory(isInMemory: Bool) throws -> String {
        let name = "herald-pg-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
        if isInMemory, hasMemory {
            let path = "/dev/shm/\(name)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            return path
        }
        let usual = FileManager.default.temporaryDirectory.appending(path: name).path()
        let path = usual.utf8.count < 80 ? usual : "/tmp/\(name)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Whether files of tests have room in memory: 4 GB, with as much left.
    private static var hasMemory: Bool {
        var room = statvfs()
        guard unsafe statvfs("/dev/shm", &room) == 0 else { return false }
        return UInt64(room.f_bavail) * UInt64(room.f_frsize) > 8 << 30
    }

    /// A standby says that it accepts read-only connections.
    private static func isReady(_ process: ChildProcess) async -> Bool {
        await process.output.first(containing: "database system is ready to accept ") != nil
    }

    // MARK: Databases

    /// Makes a database.
    ///
    /// - Parameter original: the URL of one that it is a copy of, to which nothing may be connected; otherwise it is empty.
    /// - Returns: its URL, by the Unix socket.
    package func makeDatabase(copyOf original: String? = nil) async throws -> String {
        let number = lastDatabase.withLock { last in
            last += 1
            return last
        }
        let template = original.map(Self.name) ?? "template0"
        try await execute("CREATE DATABASE test_\(number) TEMPLATE \(template)", in: url(of: "postgres"))
        return url(of: "test_\(number)")
    }

    /// Removes a database, from under those that are connected to it.
    package func dropDatabase(_ url: String) async throws {
        try await execute("DROP DATABASE \(Self.name(of: url)) WITH (FORCE)", in: self.url(of: "postgres"))
    }

    /// The URL of a database, by the Unix socket.
    package func url(of database: String) -> String {
        "postgresql://postgres@/\(database)?host=\(socketDirectory)&port=\(port)"
    }

    /// The URL of the same database by another address, as the port of a proxy.
    ///
    /// - Parameter url: as ``url(of:)`` gives it.
    package func url(_ url: String, at host: String, port: Int) -> String {
        "postgresql://postgres@/\(Self.name(of: url))?host=\(host)&port=\(port)"
    }

    /// The name of the database of a URL.
    package static func name(of url: String) -> String {
        String(url.split(separator: "?")[0].split(separator: "/").last ?? "")
    }

    /// Has psql run statements, and gives the lines of the rows with `|` between columns.
    @discardableResult
    package func execute(_ sql: String, in url: String) async throws -> [String] {
        let result = try await ChildProcess.run(
            programs.path(of: "psql"), ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
        guard result.status == 0 else { throw ChildProcessError("psql: \(result.lines)") }
        return result.lines
    }

    // MARK: Standbys

    /// Has a standby take writes; returns when it does.
    package func promote() async throws {
        guard try await execute("SELECT pg_promote()", in: url(of: "postgres")) == ["t"] else {
            throw ChildProcessError("the standby was not promoted")
        }
    }

    // MARK: Restarts

    /// Ends the server and starts it again.
    ///
    /// - Parameter immediate: as a crash, with recovery at the start; otherwise connections are ended and all is written.
    package func restart(immediate: Bool) async throws {
        await stop(immediate: immediate)
        try await start()
    }

    /// Ends the server and waits for its end.
    package func stop(immediate: Bool) async {
        let running = process.withLock { $0 }
        running.signal(immediate ? SIGQUIT : SIGINT)
        _ = await running.status()
    }

    /// Starts it again, after ``stop(immediate:)``.
    package func start() async throws {
        let again = try programs.startServer(in: socketDirectory, port: port, settings: settings)
        guard await Self.isReady(again) else { throw ChildProcessError("no PostgreSQL server: \(again.output.lines)") }
        process.withLock { $0 = again }
    }
}

/// Where PostgreSQL's programs are, and how the server's are run: it refuses root.
struct PostgreSQLPrograms: Sendable {
    /// The directory of the newest version from 15 on; `HERALD_POSTGRESQL` names another.
    static let directory: String? = {
        if let named = ProcessInfo.processInfo.environment["HERALD_POSTGRESQL"] { return named }
        let all = (15..<30).reversed().map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/local/pgsql/bin", "/usr/bin"]
        return all.first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
    }()

    /// What stands before the server's programs; `nil`: there is no one to run them.
    static let runner: [String]? = {
        guard geteuid() == 0 else { return [] }
        guard let user, FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else { return nil }
        return ["/usr/bin/setpriv", "--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups", "--"]
    }()

    /// Who runs them for root.
    private static let user: (id: uid_t, group: gid_t)? = {
        for name in ["postgres", "daemon"] {
            if let entry = unsafe getpwnam(name) { return unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid) }
        }
        return nil
    }()

    private let directory: String
    private var runner: [String]

    init() throws {
        guard let directory = Self.directory, let runner = Self.runner else {
            throw ChildProcessError("PostgreSQL's programs are not installed")
        }
        (self.directory, self.runner) = (directory, runner)
    }

    /// Has the server's programs run where they see `disk`.
    mutating func run(on disk: SmallDisk) { runner = disk.command + runner }

    func path(of program: String) -> String { directory + "/" + program }

    /// Gives a directory to whom the server runs as.
    func own(_ directory: String) throws {
        guard geteuid() == 0, let user = Self.user else { return }
        guard unsafe chown(directory, user.id, user.group) == 0 else {
            throw ChildProcessError("chown: error \(errno)")
        }
    }

    func makeCluster(in directory: String, password: String) async throws {
        let file = directory + "/password"
        try Data(password.utf8).write(to: URL(filePath: file))
        let arguments = [
            "-D", directory + "/data", "-U", "postgres", "--pwfile", file, "--auth-local=trust",
            "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync",
        ]
        let command = runner + [path(of: "initdb")] + arguments
        let result = try await ChildProcess.run(command[0], Array(command.dropFirst()))
        guard result.status == 0 else { throw ChildProcessError("initdb: \(result.lines)") }
    }

    /// Copies the cluster of a server that runs; a server on the copy follows that one.
    func copyCluster(of url: String, to directory: String) async throws {
        let command =
            runner + [
                path(of: "pg_basebackup"), "-D", directory + "/data", "-d", url, "-R", "-X", "stream", "-c", "fast",
                "--no-sync",
            ]
        let result = try await ChildProcess.run(command[0], Array(command.dropFirst()))
        guard result.status == 0 else { throw ChildProcessError("pg_basebackup: \(result.lines)") }
    }

    static func certificate(in directory: String) -> String { directory + "/server.crt" }

    /// Makes a key, which has to belong to whom the server runs as.
    ///
    /// - Returns: settings of the server.
    func makeKey(in directory: String) async throws -> [String: String] {
        let (key, certificate) = (directory + "/server.key", Self.certificate(in: directory))
        let command =
            runner + [
                "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days", "2", "-keyout", key, "-out", certificate, "-subj", "/CN=test", "-addext",
                "subjectAltName=IP:127.0.0.1",
            ]
        let result = try await ChildProcess.run(command[0], Array(command.dropFirst()))
        guard result.status == 0 else { throw ChildProcessError("openssl: \(result.lines)") }
        return ["ssl": "on", "ssl_cert_file": certificate, "ssl_key_file": key]
    }

    /// Starts a server, which is the process itself: nothing stays between.
    func startServer(in directory: String, port: Int, settings: [String: String]) throws -> ChildProcess {
        let standard = [
            "listen_addresses": "127.0.0.1", "port": String(port), "unix_socket_directories": directory,
            "max_connections": "300", "shared_buffers": "64MB", "log_min_messages": "warning",
            "log_startup_progress_interval": "0",
        ]
        let all = standard.merging(settings) { $1 }.sorted { $0.key < $1.key }
        let command =
            runner + [path(of: "postgres"), "-D", directory + "/data"]
            + all.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        return try ChildProcess(command[0], Array(command.dropFirst()))
    }
}
