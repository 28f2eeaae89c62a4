import Foundation
import GatewayAPI
import HTTPListener
import Logging
import Metrics
import PushModel
import ServiceLifecycle
import Store
import Synchronization
import UnixSignals

/// A gateway that waits for a disk which is full, read-only or damaged at its start. Meanwhile it answers 503 and says
/// why; when the store can be opened, it serves.
///
/// What only another configuration can cure ends it at once, with a line and a code. `herald dev` does not wait: it runs
/// at a terminal, where its user reads the line and starts it again; nothing depends on its answers.
struct PatientGateway: Service {
    let configuration: GatewayConfiguration
    let metrics: PrometheusRegistry
    let logger: Logger

    /// Between two attempts to open the store.
    private static let interval: Duration = .seconds(1)

    /// Serves until graceful shutdown.
    ///
    /// - Throws: ``Failure`` with the line to print and the exit code.
    func run() async throws {
        let gateway = try await Self.opened { () async throws(Failure) in
            try await Gateway(configuration: configuration, metrics: metrics, logger: logger)
        } waiting: { failure in
            try await wait(after: failure)
        }
        try await gateway?.run()
    }

    /// Opens something as often as it takes: a disk that could be written to a moment ago may be full again.
    ///
    /// - Parameter waiting: waits after a failure that may pass; `false`: the gateway is stopping.
    /// - Returns: `nil` when the gateway is stopping.
    /// - Throws: a failure that does not pass, and what waiting throws.
    static func opened<Opened>(
        _ open: () async throws(Failure) -> Opened, waiting: (Failure) async throws -> Bool
    ) async throws -> Opened? {
        while true {
            let failure: Failure
            do throws(Failure) {
                return try await open()
            } catch {
                failure = error
            }
            guard failure.mayPass else { throw failure }
            guard try await waiting(failure) else { return nil }
        }
    }

    /// Answers 503 until the store can be opened.
    ///
    /// - Returns: `false` when the gateway is stopped first.
    private func wait(after failure: Failure) async throws -> Bool {
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let problem = StartProblem(failure.message)
        logger.error(
            "the store can't be opened; every request is answered 503 until it can",
            metadata: ["error": "\(failure.message)"])
        let listen = configuration.listen
        let group: ServiceGroup
        do {
            let server = try UnavailableServer(
                listener: configuration.listener, problem: { problem.text }, logger: logger
            ) { [logger] port in
                logger.notice("listening", metadata: ["address": "\(listen.url(port: port))", "port": "\(port)"])
            }
            var quiet = logger
            quiet.logLevel = max(logger.logLevel, .warning)
            let operations: [any Service] = try operationsListener(problem).map { [$0] } ?? []
            group = ServiceGroup(services: operations + [server], logger: quiet)
        } catch {
            throw Failure(certificate: error, in: configuration)
        }
        defer { _ = hangups }
        do {
            return try await withThrowingTaskGroup(of: Bool.self) { tasks in
                tasks.addTask {
                    try await group.run()
                    return false
                }
                tasks.addTask { try await untilOpen(problem) }
                let isOpen = try await tasks.next() ?? false
                await group.triggerGracefulShutdown()
                // The one that is left: the port is free when the server has ended. It is not cancelled, because that
                // would cut off requests that it has accepted; the other one ends with the graceful shutdown too.
                while let _ = try await tasks.next() {}
                return isOpen
            }
        } catch {
            throw Failure(starting: configuration, error)
        }
    }

    /// The listener for operations, if there is to be one.
    private func operationsListener(_ problem: StartProblem) throws -> NamedListener? {
        guard let listener = configuration.operationsListener else { return nil }
        let server = try UnavailableServer(listener: listener, problem: { problem.text }, logger: logger) {
            [logger] port in
            logger.notice(
                "listening for operations",
                metadata: ["address": "http://\(listener.http.host):\(port)", "port": "\(port)"])
        }
        return NamedListener(
            server: server, configuration: configuration, host: .operationsHost, port: .operationsPort)
    }

    /// What callers are told.
    private final class StartProblem: Sendable {
        private let state: Mutex<String>

        var text: String {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }

        init(_ text: String) {
            state = Mutex(text)
        }
    }

    /// Tries to open the store again and again; `false` when the gateway is stopped first.
    private func untilOpen(_ problem: StartProblem) async throws(Failure) -> Bool {
        while true {
            do {
                // A file system has no signal for being writable again.
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
            } catch {
                return false
            }
            do throws(StoreError) {
                try await configuration.openStore(as: .gateway, logger: logger).close()
                return true
            } catch {
                let failure = Failure(store: error, in: configuration)
                guard error.mayPass else { throw failure }
                problem.text = failure.message
            }
        }
    }
}
