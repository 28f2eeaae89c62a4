import CoreMetrics
import Delivery
import Logging
import PushModel
import Testing

@testable import herald

/// The metrics backend and its text.
struct PrometheusRegistryTests {
    @Test func theGaugesOfTheDiskAreThoseThatAreKnown() {
        let registry = PrometheusRegistry()
        registry.setDisk(DiskSpace.State(freeBytes: 5000, limitBytes: 1000, daysLeft: 2.5))
        let text = registry.text
        #expect(text.contains("\nherald_disk_days_left 2.5\n"), "\(text)")
        registry.setDisk(DiskSpace.State(freeBytes: 5000, limitBytes: 1000))
        #expect(!registry.text.contains("\nherald_disk_days_left "))
    }

    @Test func countersShowSumHelpAndType() {
        let registry = PrometheusRegistry()
        let name = MetricName.deliveries.rawValue
        Counter(label: name, dimensions: [("reason", "x"), ("outcome", "rejected")], factory: registry).increment(by: 2)
        Counter(label: name, dimensions: [("outcome", "rejected"), ("reason", "x")], factory: registry).increment()
        Counter(label: name, dimensions: [("outcome", "accepted"), ("reason", "")], factory: registry).increment()
        #expect(
            registry.text == """
                # HELP herald_deliveries_total Deliveries that ended, by platform, outcome and reason.
                # TYPE herald_deliveries_total counter
                herald_deliveries_total{outcome="rejected",reason="x"} 3
                herald_deliveries_total{outcome="accepted",reason=""} 1

                """)
    }

    @Test func labelValuesAreEscaped() {
        let registry = PrometheusRegistry()
        Counter(label: "c", dimensions: [("bad-name", "a\\b\"c\nd")], factory: registry).increment()
        #expect(registry.text == "# TYPE c counter\nc{bad_name=\"a\\\\b\\\"c\\nd\"} 1\n")
    }

    @Test func timersAreHistogramsInSeconds() throws {
        let registry = PrometheusRegistry()
        let timer = Timer(label: MetricName.deliveryLatency.rawValue, dimensions: [], factory: registry)
        timer.recordMilliseconds(3)
        timer.recordMilliseconds(400)
        timer.recordSeconds(7200)
        let lines = registry.text.split(separator: "\n").map(String.init)
        let name = MetricName.deliveryLatency.rawValue
        #expect(lines.contains("# TYPE \(name) histogram"))
        #expect(lines.contains("\(name)_bucket{le=\"0.0025\"} 0"))
        #expect(lines.contains("\(name)_bucket{le=\"0.005\"} 1"))
        #expect(lines.contains("\(name)_bucket{le=\"0.25\"} 1"))
        #expect(lines.contains("\(name)_bucket{le=\"0.5\"} 2"))
        #expect(lines.contains("\(name)_bucket{le=\"3600\"} 2"))
        #expect(lines.contains("\(name)_bucket{le=\"+Inf\"} 3"))
        #expect(lines.contains("\(name)_sum 7200.403"))
        #expect(lines.contains("\(name)_count 3"))
    }

    @Test func gaugesAndMetersShowTheirLastValue() {
        let registry = PrometheusRegistry()
        Gauge(label: "g", dimensions: [], factory: registry).record(1.5)
        let meter = Meter(label: "m", dimensions: [("lane", "bulk")], factory: registry)
        meter.set(7)
        meter.increment(by: 3)
        #expect(registry.text == "# TYPE g gauge\ng 1.5\n# TYPE m gauge\nm{lane=\"bulk\"} 10\n")
    }

    @Test func labelSetsBeyondTheLimitAreAddedUp() {
        let registry = PrometheusRegistry(seriesLimit: 2)
        for route in ["a", "b", "c", "d"] {
            Counter(label: "c", dimensions: [("route", route)], factory: registry).increment()
        }
        #expect(
            registry.text == """
                # TYPE c counter
                c{route="a"} 1
                c{route="b"} 1
                c{route="other"} 2

                """)
    }

    @Test func aNameOfTwoKindsKeepsTheFirst() {
        let registry = PrometheusRegistry()
        Counter(label: "c", dimensions: [], factory: registry).increment()
        Gauge(label: "c", dimensions: [], factory: registry).record(5)
        #expect(registry.text == "# TYPE c counter\nc 1\n")
    }

    @Test func upstreamsThatAreGoneLeaveTheScrape() {
        let registry = PrometheusRegistry()
        let status = UpstreamStatus(
            name: "a:1 T/K", isReachable: true, lastFailure: nil, connections: 2, streamsInUse: 3, streamLimit: 1000,
            queued: 4, queueLimit: 10_000, circuit: .open, failedDials: 5, goAways: ["Shutdown": 6])
        registry.setUpstreams([status])
        #expect(registry.text.contains("herald_upstream_circuit_open{upstream=\"a:1 T/K\"} 1\n"))
        #expect(registry.text.contains("herald_upstream_failed_dials{upstream=\"a:1 T/K\"} 5\n"))
        #expect(registry.text.contains("herald_upstream_goaways{reason=\"Shutdown\",upstream=\"a:1 T/K\"} 6\n"))
        #expect(registry.text.contains("herald_upstream_connections{upstream=\"a:1 T/K\"} 2\n"))
        #expect(registry.text.contains("herald_upstream_streams_in_use{upstream=\"a:1 T/K\"} 3\n"))
        #expect(registry.text.contains("herald_upstream_stream_limit{upstream=\"a:1 T/K\"} 1000\n"))
        #expect(registry.text.contains("herald_upstream_queued{upstream=\"a:1 T/K\"} 4\n"))
        #expect(registry.text.contains("herald_upstream_queue_limit{upstream=\"a:1 T/K\"} 10000\n"))
        registry.setUpstreams([])
        #expect(!registry.text.contains("a:1 T/K"))
    }

    @Test func pushesThatAnUpstreamHoldsAreCounted() {
        let registry = PrometheusRegistry()
        var status = UpstreamStatus(
            name: "a", isReachable: true, lastFailure: nil, connections: 0, streamsInUse: 0, streamLimit: 0, queued: 0,
            queueLimit: 1)
        registry.setUpstreams([status])
        #expect(registry.text.contains("herald_upstream_paused{upstream=\"a\"} 0\n"))
        #expect(registry.text.contains("herald_upstream_paused_parts{upstream=\"a\"} 0\n"))
        #expect(!registry.text.contains("herald_upstream_clock_skew_seconds{"))
        #expect(!registry.text.contains("herald_upstream_pace_limit{"))
        let time = Timestamp(seconds: 0)
        status.pauses = [
            UpstreamPause(part: .everything, reason: "Forbidden", since: time, nextProbe: time),
            UpstreamPause(part: .topic("t"), reason: "BadTopic", since: time, nextProbe: time),
        ]
        status.clockSkew = .seconds(-90)
        status.paceLimit = 12
        registry.setUpstreams([status])
        #expect(registry.text.contains("herald_upstream_paused{upstream=\"a\"} 1\n"))
        #expect(registry.text.contains("herald_upstream_paused_parts{upstream=\"a\"} 1\n"))
        #expect(registry.text.contains("herald_upstream_clock_skew_seconds{upstream=\"a\"} -90\n"))
        #expect(registry.text.contains("herald_upstream_pace_limit{upstream=\"a\"} 12\n"))
    }

    @Test func countingFromManyTasksLosesNothing() async {
        let registry = PrometheusRegistry()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 { Counter(label: "c", dimensions: [], factory: registry).increment() }
                }
            }
        }
        #expect(registry.text.contains("c 8000\n"))
    }
}
