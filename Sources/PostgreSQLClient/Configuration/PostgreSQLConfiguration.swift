import Foundation

/// How a database is reached: the servers of one cluster, of which one takes writes.
package struct PostgreSQLConfiguration: Sendable {
    /// Its servers, in the order in which they are tried.
    let servers: [ConnectionParameters]

    /// How long connecting to one server may take.
    package var connectTimeout: Duration = .seconds(5)
    /// How long an answer may take: longer than the server's own limit of a statement, which comes first while it lives.
    package var answerTimeout: Duration = .seconds(20)
    /// The longest wait between two attempts to connect.
    package var longestPause: Duration = .seconds(5)
    /// Makes the server's text of what a statement is asked for by: once for a connection.
    package var translate: @Sendable (String) -> String = { $0 }

    /// Reads a URL, `postgresql://user@host1:5432,host2:5432/database?sslmode=verify-full`, with libpq's parameters
    /// (postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING).
    ///
    /// Of several servers the one that takes writes is used, unless `target_session_attrs` says otherwise. Certificates are
    /// verified with the name of the server, unless `sslmode` says otherwise, against those of the system if the URL names
    /// none.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - password: instead of one in the URL; without both libpq looks into PGPASSWORD and `~/.pgpass`.
    ///   - applicationName: what the server shows of whom it works for.
    /// - Throws: ``PostgreSQLError`` `.configuration`, which names the parameter and does not quote the URL.
    package init(
        url: String, password: String? = nil, applicationName: String = "herald"
    ) throws(PostgreSQLError) {
        guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://") else {
            throw PostgreSQLError(.configuration, "The URL of the database must begin with postgresql://.")
        }
        var parameters = try ConnectionParameters(url: url)
        if let password { parameters["password"] = password }
        try Self.check(parameters)
        parameters.fill("application_name", applicationName)
        for (name, value) in Self.standard { parameters.fill(name, value) }
        if let file = Self.systemCertificates, parameters["sslmode"]?.hasPrefix("verify") ?? false {
            parameters.fill("sslrootcert", file)
        }
        // The last of a parameter that is given twice holds.
        parameters["options"] = [Self.options, parameters["options"]].compactMap { $0 }.joined(separator: " ")
        servers = try Self.servers(of: parameters)
    }

    /// As ``init(url:password:applicationName:)``, with the password in a file, whose last line break is none of it.
    package init(
        url: String, passwordFile: String, applicationName: String = "herald"
    ) throws(PostgreSQLError) {
        let password: String
        do {
            password = try String(contentsOfFile: passwordFile, encoding: .utf8)
        } catch {
            throw PostgreSQLError(.configuration, "The password file \(passwordFile) can't be read.")
        }
        try self.init(
            url: url, password: password.last?.isNewline == true ? String(password.dropLast()) : password,
            applicationName: applicationName)
    }

    /// For texts: hosts and database, no password.
    package var text: String {
        let hosts = servers.map { "\($0["host"] ?? "localhost"):\($0["port"] ?? "5432")" }.joined(separator: ",")
        return "\(hosts)/\(servers.first?["dbname"] ?? "")"
    }

    private static let standard: KeyValuePairs<String, String> = [
        "target_session_attrs": "read-write", "sslmode": "verify-full", "gssencmode": "disable",
        // A peer that is gone is found by the kernel, too; milliseconds, the others are seconds.
        "keepalives_idle": "30", "keepalives_interval": "5", "tcp_user_timeout": "10000",
        "client_encoding": "UTF8",
    ]

    /// Limits on the server's side, so that a node that hangs, or whose machine is gone, holds no lock for long. Statements are
    /// made for indexes: a plan that reads a whole table instead, or hashes, sorts or merges all of it, as for a table that was
    /// small when it was analyzed, or for a LIMIT that is a parameter, would be kept for all later calls.
    private static let options = """
        -c statement_timeout=15s -c idle_in_transaction_session_timeout=30s -c lock_timeout=5s -c timezone=UTC \
        -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=20s \
        -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c max_parallel_workers_per_gather=0 -c jit=off
        """

    /// Certificate authorities of the system, where Debian and Fedora have them.
    private static let systemCertificates: String? = {
        let own = FileManager.default.homeDirectoryForCurrentUser.appending(path: ".postgresql/root.crt").path()
        return [own, "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
            .first { FileManager.default.fileExists(atPath: $0) }
    }()

    private static func check(_ parameters: ConnectionParameters) throws(PostgreSQLError) {
        if let mode = parameters["sslmode"], ["prefer", "allow"].contains(mode) {
            throw PostgreSQLError(
                .configuration,
                "sslmode=\(mode) would fall back to an unencrypted connection; use verify-full, or disable on one machine."
            )
        }
        for name in ["hostaddr", "service", "replication"] where parameters[name] != nil {
            throw PostgreSQLError(.configuration, "The URL of the database must not have the parameter \(name).")
        }
        guard let database = parameters["dbname"], !database.isEmpty else {
            throw PostgreSQLError(.configuration, "The URL of the database names no database.")
        }
    }

    /// One set of parameters for each server: libpq would wait for one that is silent as long as the system does.
    private static func servers(of parameters: ConnectionParameters) throws(PostgreSQLError) -> [ConnectionParameters] {
        let hosts = (parameters["host"] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let ports = (parameters["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard ports.count == 1 || ports.count == hosts.count else {
            throw PostgreSQLError(
                .configuration, "The URL of the database has \(hosts.count) hosts and \(ports.count) ports.")
        }
        return hosts.indices.map { index in
            var server = parameters
            server["host"] = hosts[index].isEmpty ? nil : hosts[index]
            let port = ports[ports.count == 1 ? 0 : index]
            server["port"] = port.isEmpty ? nil : port
            return server
        }
    }
}
