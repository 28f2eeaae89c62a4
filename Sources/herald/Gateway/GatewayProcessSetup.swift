import Logging
import Metrics
import ServiceLifecycle
import UnixSignals

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
        // What has no answer after the limit is ended by the gateway and recorded: a few seconds more.
        configuration.maximumGracefulShutdownDuration = shutdownLimit + .seconds(3)
        let group = ServiceGroup(configuration: configuration)
        let watch = ShutdownWatch(
            signals: await UnixSignalsSequence(trapping: .sigterm, .sigint), limit: shutdownLimit + .seconds(5),
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
