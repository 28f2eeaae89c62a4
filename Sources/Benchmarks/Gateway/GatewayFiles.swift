import Foundation
import PushModel

/// What a gateway needs on disk: configuration, project, provider key, an empty data directory. Removed with the value.
final class GatewayFiles {
    /// Where its spans go, and which.
    struct Tracing {
        var endpoint: String
        var sample: Double
    }

    /// How the gateway is set up.
    struct Setup {
        /// Its apps, one for each platform.
        var apps: [PlatformApp]
        /// Connections to the sink.
        var connections = 4
        /// Threads of the HTTP/2 engine.
        var threads = 1
        /// Whether the listener speaks TLS.
        var isEncrypted = false
        /// A store that is there already; `nil`: an empty one.
        var data: String?
        /// The URL of a database that has the store instead; `nil`: none has.
        var database: String?
        /// Whether webhooks may go to this machine.
        var allowsReceivers = false
        /// Whether the project has the links of ``LinkRows``.
        var hasLinks = false
        /// `nil`: nothing is traced.
        var tracing: Tracing?
    }

    /// The project of every benchmark.
    static let project = "bench"
    /// Its app for Apple's devices, mostly the only one.
    static let app = "com.example.bench"

    let root: String
    /// Certificate and key of the listener and the sink.
    let scratch: Scratch
    let setup: Setup
    var configuration: String { root + "/herald.yaml" }
    var data: String { setup.data ?? root + "/data" }
    var log: String { log(of: 0) }

    /// Of a gateway by its place, where several have these files.
    func log(of node: Int) -> String { root + "/log-\(node)" }

    /// Writes the files into a new directory within `directory`.
    init(_ setup: Setup, scratch: Scratch, in directory: String) throws {
        root = directory + "/herald-bench-gateway-\(UUID().uuidString)"
        Cleanup.add(folder: root)
        self.setup = setup
        self.scratch = scratch
        try FileManager.default.createDirectory(
            atPath: root + "/projects", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try write(
            """
            listen:
              host: 127.0.0.1
              port: 0
            \(setup.isEncrypted ? "  certificate: \(scratch.certificate)\n  key: \(scratch.key)\n" : "")
            data: \(data)
            \(setup.database.map { "store:\n  url: \($0)" } ?? "")
            projects: \(root)/projects
            limits:
              messages: 10000000
              upstreamThreads: \(setup.threads)
              upstreamConnections: \(setup.connections)
            \(setup.tracing.map { "tracing:\n  endpoint: \($0.endpoint)\n  sample: \($0.sample)" } ?? "")
            \(setup.allowsReceivers ? Self.receivers : "")
            log:
              level: notice
            """, to: configuration)
        try write(setup.apps)
    }

    private static let receivers = "webhooks:\n  allowHTTP: [127.0.0.1]\n  allowNetworks: [127.0.0.0/8]"

    deinit { Cleanup.remove(folder: root) }

    /// Lets pushes go to another sink from the gateway's next start on.
    func send(to sinkPort: Int) throws { try write([PlatformApp(.apple, sinkPort: sinkPort)]) }

    private func write(_ apps: [PlatformApp]) throws {
        let blocks = try apps.map { try $0.block(in: root, trust: scratch.certificate) }
        try write(
            """
            project: \(Self.project)
            number: 123456789012
            apps:
            \(blocks.joined(separator: "\n"))
            \(setup.hasLinks ? LinkRows.configuration : "")
            """, to: root + "/projects/bench.yaml")
    }

    /// Bytes of the store's files.
    var dataBytes: Int {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: data).reduce(0) { sum, file in
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(data)/\(file)")
                return sum + (attributes[.size] as? Int ?? 0)
            }
        }
    }

    /// Copies the store of the directory into the database, where the gateways are going to have it.
    func moveStore() throws {
        guard let database = setup.database else { return }
        let words = ["move", "--from", data, "--to", database]
        let program = try Program(try GatewayProcess.herald, words, showsErrors: true)
        _ = program.waitForOutput()
        guard program.status == 0 else { throw BenchFailure("herald move failed") }
        try FileManager.default.removeItem(atPath: data)
    }

    /// Makes an API key that may do everything.
    func makeAPIKey() throws -> String {
        let words = ["key", "create", "--config", configuration, "--project", Self.project, "--role", "admin"]
        let program = try Program(try GatewayProcess.herald, words, showsErrors: true)
        let lines = program.waitForOutput().split(separator: "\n")
        guard program.status == 0, let key = lines.last else { throw BenchFailure("herald key create failed") }
        return String(key)
    }

    private func write(_ text: String, to path: String) throws {
        try Data((text + "\n").utf8).write(to: URL(filePath: path))
    }
}
