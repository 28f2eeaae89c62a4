import Logging
import PushModel
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import herald

@Suite(.timeLimit(.minutes(5)))
struct CertificateWatchTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func take(_ line: String) {
            lines.withLock { $0.append(line) }
        }
    }

    private let clock = TestClock()
    private let start = Timestamp(seconds: 1_700_000_000)
    private let lines = Lines()

    private func watch() -> CertificateWatch {
        let output = LogOutput { [lines] line in lines.take(line) }
        return CertificateWatch(
            clock: clock, wallTime: clock.wallTime(startingAt: start),
            logger: LogFactory(format: .text, level: .info, output: output).logger(label: "test"))
    }

    private func certificate(days: Int64, since: Int64 = -1) throws -> WatchedCertificate {
        WatchedCertificate(
            project: try #require(ProjectID(rawValue: "demo")), app: try #require(AppID(rawValue: "com.example.app")),
            place: ConfigurationPlace(source: "demo.yaml", line: 7), validFrom: start + .seconds(since * 86_400),
            validUntil: start + .seconds(days * 86_400))
    }

    @Test(arguments: [(31, nil), (30, "ends soon"), (1, "ends soon"), (0, "has ended"), (-5, "has ended")])
    func theEndIsToldThirtyDaysAhead(days: Int64, text: String?) throws {
        watch().watch([try certificate(days: days)])
        guard let text else {
            #expect(lines.all.isEmpty)
            return
        }
        #expect(lines.all.count == 1)
        let line = try #require(lines.all.first)
        #expect(line.contains(text) && line.contains("file=demo.yaml:7") && line.contains("app=com.example.app"))
        #expect(line.contains("days=\(days)") == (text == "ends soon"))
    }

    @Test func aCertificateThatBeginsLaterIsReported() throws {
        watch().watch([try certificate(days: 400, since: 2)])
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("not valid yet") == true)
    }

    @Test func theWarningComesAgainEachDayUntilTheCertificateIsReplaced() async throws {
        let watch = watch()
        watch.watch([try certificate(days: 32)])
        let run = Task { try await watch.run() }
        var expected = 0
        for day in 1...34 {
            await clock.advanceToSleeper(within: CertificateWatch.interval)
            // Asleep again: it has looked.
            await clock.sleepers(within: CertificateWatch.interval)
            if day >= 2 { expected += 1 }
            #expect(lines.all.count == expected, "day \(day)")
        }
        #expect(lines.all.filter { $0.contains("ends soon") }.count == 30)
        #expect(lines.all.filter { $0.contains("has ended") }.count == 3)
        watch.watch([try certificate(days: 400)])
        await clock.advanceToSleeper(within: CertificateWatch.interval)
        await clock.sleepers(within: CertificateWatch.interval)
        #expect(lines.all.count == 33)
        run.cancel()
        try await run.value
    }

    @Test func theMetricHasOneSeriesForEachCertificate() throws {
        let registry = PrometheusRegistry()
        registry.setCertificates([try certificate(days: 1)])
        let name = "herald_certificate_expiry_timestamp_seconds"
        let series = name + #"{app="com.example.app",project="demo"} "#
        #expect(registry.text.contains(series))
        registry.setCertificates([])
        #expect(!registry.text.contains(series))
    }
}
