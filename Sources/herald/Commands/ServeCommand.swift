import ArgumentParser
import Foundation
import Logging
import Metrics
import ServiceLifecycle
import UnixSignals

/// `herald serve`: the gateway in the foreground, as a supervisor wants it.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the gateway.",
        discussion: """
            Every value of the configuration can be overridden by the environment: HERALD_LISTEN_PORT for listen.port.
            https_proxy and no_proxy hold for projects that name no proxy; SSLKEYLOGFILE gets the TLS secrets of the
            connections to APNs, for debugging.
            SIGTERM and Ctrl-C finish what is in flight and end with 0; SIGHUP reads the project files and the listener's
            certificate again.
            Exit codes: 64 arguments, 69 port or store in use, 74 disk, 78 configuration.
            """)

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let configuration = try file.read()
        let log = LogFactory(
            format: configuration.log.format, level: configuration.log.level, output: .standardError)
        let metrics = GatewayProcessSetup.bootstrap(log: log)
        let gateway = PatientGateway(
            configuration: configuration, metrics: metrics, logger: log.logger(label: "herald"))
        try await GatewayProcessSetup.run(
            [gateway], shutdownLimit: .seconds(configuration.limits.shutdownSeconds), log: log)
    }
}

/// `--config`.
struct ConfigurationOption: ParsableArguments {
    @Option(name: .customLong("config"), help: "The gateway's configuration file.")
    var path = "Config/herald.yaml"

    /// Reads the file and the environment.
    func read() throws(Failure) -> GatewayConfiguration {
        do {
            return try GatewayConfiguration.read(
                file: path, environment: ProcessInfo.processInfo.environment)
        } catch {
            throw error.failure
        }
    }
}

/// What a process that runs a gateway sets up once.
enum GatewayProcessSetup {
    /// Connects swift-log and swift-metrics; once in a process.
    static func bootstrap(log: LogFactory) -> PrometheusRegistry {
        let metrics = PrometheusRegistry()
        MetricsSystem.bootstrap(metrics)
        LoggingSystem.bootstrap { log.handler(label: $0) }
        return metrics
    }

    /// Runs services until SIGTERM or SIGINT, and ends the process soon after `shutdownLimit` whatever they do.
    static func run(_ services: [any Service], shutdownLimit: Duration, log: LogFactory) async throws {
        // A peer that goes away while we write is an error of that write, not the end of the process.
        let brokenPipes = await UnixSignalsSequence(trapping: .sigpipe)
        var logger = log.logger(label: "lifecycle")
        logger.logLevel = max(log.level, .warning)
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.maximumGracefulShutdownDuration = shutdownLimit + .seconds(1)
        let group = ServiceGroup(configuration: configuration)
        let watch = ShutdownWatch(
            signals: await UnixSignalsSequence(trapping: .sigterm, .sigint), limit: shutdownLimit + .seconds(3),
            logger: log.logger(label: "herald"))
        async let _: Void = watch.run()
        do {
            try await group.run()
        } catch is CancellationError {
            // Only the limit cancels: what was not finished is in the store and goes on with the next start.
        }
        _ = brokenPipes
    }
}
