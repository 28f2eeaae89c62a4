import Foundation
import TestSupport
import Testing
import Traces
import Tracing

@testable import herald

/// `tracing` in `herald.yaml`, and the names of OpenTelemetry in the environment.
struct TracingConfigurationTests {
    private static func read(
        _ text: String, _ environment: [String: String] = [:]
    ) throws -> GatewayConfiguration.Tracing {
        let directory = try TestDirectory()
        let path = directory.file("herald.yaml")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try GatewayConfiguration.read(file: path, environment: environment).tracing
    }

    private static func problem(_ text: String, _ environment: [String: String] = [:]) throws -> String {
        do {
            _ = try read(text, environment)
            return ""
        } catch let error as ConfigurationError {
            return error.problems.map(\.description).joined(separator: "\n")
        }
    }

    @Test func nothingIsTracedWithoutAnEndpoint() throws {
        let tracing = try Self.read("data: d\ntracing:\n  sample: 1")
        #expect(tracing.url == nil)
        #expect(tracing.sampler == TraceSampler(share: 1))
        #expect(try Self.read("data: d").sampler.share == 0.01)
    }

    @Test func theFileIsReadAndTheEnvironmentOverridesIt() throws {
        let text = "tracing:\n  endpoint: http://127.0.0.1:4318/\n  sample: 0"
        let written = try Self.read(text)
        #expect(written.url == "http://127.0.0.1:4318/v1/traces")
        #expect(written.sampler == TraceSampler(share: 0))
        #expect(written.serviceName == "herald")
        let overridden = try Self.read(
            text, ["HERALD_TRACING_ENDPOINT": "https://otel.example.com/in", "HERALD_TRACING_SAMPLE": "0.5"])
        #expect(overridden.url == "https://otel.example.com/in/v1/traces")
        #expect(overridden.sampler.share == 0.5)
    }

    @Test func openTelemetrysNamesHoldWhereNothingElseSaysIt() throws {
        let environment = [
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SERVICE_NAME": "push",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, x-team=1", "OTEL_TRACES_SAMPLER": "traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "0.25",
        ]
        let tracing = try Self.read("data: d", environment)
        #expect(tracing.url == "http://collector:4318/v1/traces")
        #expect(tracing.serviceName == "push")
        #expect(tracing.headers == [.init(name: "x-key", value: "a b"), .init(name: "x-team", value: "1")])
        #expect(tracing.sampler == TraceSampler(share: 0.25, followsParent: false))
        let own = try Self.read("tracing: {endpoint: 'http://own:4318', sample: 0.75}", environment)
        #expect(own.url == "http://own:4318/v1/traces")
        #expect(own.sampler == TraceSampler(share: 0.75))
        let whole = environment.merging(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces:1/x"]) { $1 }
        #expect(try Self.read("data: d", whole).url == "http://traces:1/x")
    }

    @Test(arguments: [
        ("always_on", 1.0, false), ("always_off", 0, false), ("parentbased_always_on", 1, true),
        ("parentbased_always_off", 0, true), ("parentbased_traceidratio", 1, true),
    ])
    func eachSamplerIsKnown(_ name: String, _ share: Double, _ followsParent: Bool) throws {
        #expect(
            try Self.read("data: d", ["OTEL_TRACES_SAMPLER": name]).sampler
                == TraceSampler(share: share, followsParent: followsParent))
    }

    @Test func mistakesAreNamed() throws {
        #expect(
            try Self.problem("tracing:\n  endpoint: collector:4318").hasSuffix(
                "2: tracing.endpoint: \"collector:4318\" is no URL of a collector; write it like http://127.0.0.1:4318")
        )
        #expect(
            try Self.problem("tracing:\n  sample: 1.5").hasSuffix(
                "2: tracing.sample: 1.5 is out of range; use a number from 0 to 1, such as 0.01"))
        #expect(
            try Self.problem("data: d", ["HERALD_TRACING_SAMPLE": "-1"])
                == "HERALD_TRACING_SAMPLE: tracing.sample: -1 is out of range; use a number from 0 to 1, such as 0.01")
        #expect(
            try Self.problem("data: d", ["OTEL_TRACES_SAMPLER": "always"]).hasPrefix(
                "OTEL_TRACES_SAMPLER: \"always\" is not known; "))
        #expect(
            try Self.problem("data: d", ["OTEL_EXPORTER_OTLP_HEADERS": "secret"])
                == "OTEL_EXPORTER_OTLP_HEADERS: must be name=value, with a comma between several")
    }

    @Test func theQueueDropsWhatHasNoRoomAndCountsIt() {
        let queue = SpanQueue(limit: 3)
        let tracer = QueueTracer(queue: queue)
        for _ in 0..<5 { tracer.startSpan("step", context: .topLevel).end() }
        #expect(queue.counts.waiting == 3)
        #expect(queue.counts.lost == [.full: 2])
        let registry = PrometheusRegistry()
        registry.setTracing(queue)
        #expect(registry.text.contains("\nherald_trace_spans_dropped_total{reason=\"full\"} 2\n"))
        #expect(registry.text.contains("# TYPE herald_trace_spans_dropped_total counter\n"))
        let batch = queue.take()
        queue.putBack(batch)
        #expect(queue.counts.waiting == 3)
    }
}
