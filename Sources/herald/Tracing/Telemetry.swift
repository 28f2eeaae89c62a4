import Foundation
import Logging
import PushModel
import Traces

/// Tracing as it is configured: what records, what waits, what exports.
struct Telemetry {
    /// What records.
    let tracer: StepTracer
    /// What waits for the collector.
    let queue: SpanQueue
    /// What brings it there.
    let exporter: SpanExporter

    /// `nil`: nothing is traced.
    init?(_ configuration: GatewayConfiguration.Tracing, wallTime: @escaping WallTime, logger: Logger) {
        guard let url = configuration.url else { return nil }
        queue = SpanQueue()
        tracer = StepTracer(QueueTracer(queue: queue), sampler: configuration.sampler)
        exporter = SpanExporter(
            queue: queue, url: url, headers: configuration.headers.map { ($0.name, $0.value) },
            document: SpanDocument(resource: [
                ("service.name", configuration.serviceName), ("service.version", HeraldVersion.current),
                ("host.name", ProcessInfo.processInfo.hostName),
                ("process.pid", String(ProcessInfo.processInfo.processIdentifier)),
            ]), clock: ContinuousClock(), wallTime: wallTime, logger: logger)
    }
}
