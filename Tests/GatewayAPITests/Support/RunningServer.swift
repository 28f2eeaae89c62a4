import HTTPListener
import Logging
import PushModel
import ServiceLifecycle
import TestSupport
import Testing

@testable import GatewayAPI

/// A listener on a port of its own.
struct RunningServer: Sendable {
    let port: Int
    private let group: ServiceGroup

    /// Begins the graceful shutdown.
    func shutDown() async {
        await group.triggerGracefulShutdown()
    }

    /// Runs a server while `body` uses it, then shuts it down gracefully.
    static func run<Value: Sendable>(
        _ services: GatewayServices, listener: GatewayListener,
        _ body: @Sendable @escaping (RunningServer) async throws -> Value
    ) async throws -> Value {
        try await run(body) { onListening in
            try GatewayServer(listener: listener, services: services, onListening: onListening)
        }
    }

    /// Runs any server that says its port.
    static func run<Value: Sendable>(
        _ body: @Sendable @escaping (RunningServer) async throws -> Value,
        _ make: (_ onListening: @escaping @Sendable (Int) -> Void) throws -> any Service
    ) async throws -> Value {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let server = try make { continuation.yield($0) }
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [server], logger: logger))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            let running = RunningServer(port: try #require(await iterator.next()), group: group)
            let value: Value
            do {
                value = try await body(running)
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return value
        }
    }
}

extension GatewayListener {
    /// A listener on 127.0.0.1.
    static func loopback(
        port: Int = 0, tls: (certificateFile: String, keyFile: String)? = nil, bodyLimits: BodyLimits = BodyLimits(),
        shutdownLimit: Duration = .seconds(20), requestLimit: Duration = .seconds(30),
        answerLimit: Duration = .seconds(120)
    ) -> GatewayListener {
        GatewayListener(
            ListenerConfiguration(
                host: "127.0.0.1", port: port, tls: tls, shutdownLimit: shutdownLimit, requestLimit: requestLimit,
                answerLimit: answerLimit),
            bodyLimits: bodyLimits)
    }
}

/// Files of a self-signed certificate for 127.0.0.1.
struct TestCertificate {
    let certificateFile: String
    let keyFile: String

    /// Makes it.
    init(in directory: TestDirectory, name: String = "tls") async throws {
        (certificateFile, keyFile) = (directory.file("\(name).crt"), directory.file("\(name).key"))
        let made = try await GatewayAPITests.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificateFile,
                "-keyout", keyFile,
            ])
        try #require(made.status == 0)
    }

    /// As a listener takes them.
    var files: (certificateFile: String, keyFile: String) { (certificateFile, keyFile) }
}
