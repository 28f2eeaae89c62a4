import Foundation
import HTTPListener
import Logging
import PushModel
import Synchronization
import TestSupport
import Testing

@testable import herald

/// The listener's certificate: when it ends, and that a new one is taken.
@Suite(.timeLimit(.minutes(5)))
struct ListenerWatchTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func take(_ line: String) {
            lines.withLock { $0.append(line) }
        }
    }

    private let lines = Lines()

    private var logger: Logger {
        LogFactory(format: .text, level: .info, output: LogOutput { [lines] line in lines.take(line) })
            .logger(label: "test")
    }

    /// A self-signed certificate for 30 days.
    static func makeCertificate(in directory: TestDirectory, name: String = "tls") async throws -> (
        certificate: String, key: String
    ) {
        let (certificate, key) = (directory.file("\(name).crt"), directory.file("\(name).key"))
        let made = try await ChildProcess.run(
            "/usr/bin/env",
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "30", "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate,
                "-keyout", key,
            ], keepsErrors: false)
        try #require(made.status == 0)
        return (certificate, key)
    }

    @Test(arguments: [(20, nil), (14, "ends soon"), (1, "ends soon"), (0, "has ended"), (-5, "has ended")])
    func theEndIsToldTwoWeeksAhead(days: Int64, text: String?) async throws {
        let directory = try TestDirectory()
        let files = try await Self.makeCertificate(in: directory)
        let certificate = try ListenerCertificate(certificateFile: files.certificate, keyFile: files.key)
        let now = certificate.validUntil + .seconds(-days * 86_400)
        ListenerWatch([certificate], clock: TestClock(), wallTime: { now }, logger: logger).look()
        guard let text else {
            #expect(lines.all.isEmpty)
            return
        }
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains(text) == true && lines.all.first?.contains(files.certificate) == true)
    }

    @Test func aMismatchedPairIsReportedAndTheOldOneStays() async throws {
        let directory = try TestDirectory()
        let files = try await Self.makeCertificate(in: directory)
        let certificate = try ListenerCertificate(certificateFile: files.certificate, keyFile: files.key)
        let watch = ListenerWatch(
            [certificate], clock: TestClock(), wallTime: { Timestamp(seconds: 1_700_000_000) }, logger: logger)
        watch.reloadIfChanged()
        #expect(lines.all.isEmpty)
        try FileManager.default.removeItem(atPath: files.key)
        watch.reloadIfChanged()
        #expect(lines.all.count == 1 && lines.all[0].contains("the old ones stay in force"))
        // Told once, not at every look.
        watch.reloadIfChanged()
        #expect(lines.all.count == 1)
        _ = try await Self.makeCertificate(in: directory)
        watch.reloadIfChanged()
        #expect(lines.all.count == 2 && lines.all[1].contains("were read again"))
        watch.reload()
        #expect(lines.all.count == 3)
    }

    @Test func anOpenKeyAndAnOpenInterfaceAreWarnedOf() async throws {
        let directory = try TestDirectory()
        let files = try await Self.makeCertificate(in: directory)
        var configuration = GatewayConfiguration()
        configuration.limits.connections = 8
        configuration.listen.host = "0.0.0.0"
        #expect(ListenerCheck(configuration: configuration).warnings.map(\.field) == ["listen.host"])
        configuration.listen.certificate = files.certificate
        configuration.listen.key = files.key
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: files.key)
        #expect(ListenerCheck(configuration: configuration).warnings.isEmpty)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o644)], ofItemAtPath: files.key)
        #expect(ListenerCheck(configuration: configuration).warnings.map(\.field) == ["listen.key"])
        configuration.limits.connections = 100_000_000
        #expect(
            ListenerCheck(configuration: configuration).warnings.map(\.field) == ["listen.key", "limits.connections"])
    }

    @Test func doctorNamesTheEndOfTheListenersCertificate() async throws {
        let directory = try TestDirectory()
        let files = try await Self.makeCertificate(in: directory)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: files.key)
        var configuration = GatewayConfiguration()
        configuration.limits.connections = 8
        configuration.listen.certificate = files.certificate
        configuration.listen.key = files.key
        let end = try ListenerCertificate(certificateFile: files.certificate, keyFile: files.key).validUntil
        let check = ListenerCheck(configuration: configuration)
        let grades = [-15, -14, 0].map { check.findings(at: end + .seconds($0 * 86_400)).map(\.grade) }
        #expect(grades == [[.good], [.warning], [.bad]])
        configuration.listen.key = files.certificate
        #expect(ListenerCheck(configuration: configuration).findings(at: end).last?.grade == .bad)
    }

    @Test(arguments: [
        (256, 10_000, 160, 80), (1024, 10_000, 768, 384), (65_536, 10_000, 10_000, 5000), (65_536, 100, 100, 50),
        (64, 10_000, 32, 16), (4, 10_000, 8, 4),
    ])
    func descriptorsAreLeftForTheRest(descriptors: Int, configured: Int, total: Int, perAddress: Int) {
        var configuration = GatewayConfiguration()
        configuration.limits.connections = configured
        let limits = configuration.connectionLimits(descriptors: descriptors)
        #expect(limits == ConnectionLimits(total: total, perAddress: perAddress))
        configuration.limits.proxies = 1
        #expect(configuration.connectionLimits(descriptors: descriptors).perAddress == nil)
    }

    @Test func theDescriptorLimitIsRead() {
        let text = """
            Limit                     Soft Limit           Hard Limit           Units
            Max processes             127236               127236               processes
            Max open files            1024                 524288               files

            """
        #expect(DescriptorLimit.parsed(text) == 1024)
        #expect(DescriptorLimit.parsed(text.replacing("1024", with: "unlimited")) == nil)
        #expect(DescriptorLimit.current.map { $0 > 0 } ?? true)
    }
}
