import HTTPListener
import Logging
import Metrics
import PushModel
import ServiceLifecycle
import Synchronization

/// Reads the listener's certificates and keys again when one of the files changes or SIGHUP asks for it, and warns before
/// a certificate ends: at the start, after a change, and then once a day.
///
/// Safe to use from any task; ``run()`` looks at the files.
final class ListenerWatch: Service {
    /// Time between two looks at the files.
    static let interval: Duration = .seconds(10)
    /// Time between two warnings.
    static let reminder: Duration = .seconds(86_400)

    /// The files that are watched.
    private let certificates: [ListenerCertificate]
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let logger: Logger
    private let expiry = Gauge(label: MetricName.listenerCertificateExpiry.rawValue)
    /// When the log was last told, in the wall's time.
    private let remindedAt = Mutex<Timestamp?>(nil)

    /// Watches certificates; nothing runs yet.
    init(
        _ certificates: [ListenerCertificate], clock: any Clock<Duration>, wallTime: @escaping WallTime, logger: Logger
    ) {
        self.certificates = certificates
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
    }

    /// Reads all files again, whether they changed or not.
    func reload() {
        for certificate in certificates {
            report(certificate) { () throws in
                try certificate.reload()
                return true
            }
        }
    }

    /// Reads both files of a certificate again if one of them is another one now.
    func reloadIfChanged() {
        for certificate in certificates { report(certificate, certificate.reloadIfChanged) }
    }

    private func report(_ certificate: ListenerCertificate, _ reload: () throws -> Bool) {
        do {
            guard try reload() else { return }
            logger.notice(
                "the listener's certificate and key were read again",
                metadata: ["file": "\(certificate.certificateFile)", "ends": "\(certificate.validUntil.rfc3339)"])
            look()
        } catch {
            logger.error(
                "the listener's certificate and key are not taken over, the old ones stay in force",
                metadata: ["problem": "\(error)"])
        }
    }

    /// Warns of certificates that end soon or have ended, and sets the gauge to the first end.
    func look() {
        let now = wallTime()
        remindedAt.withLock { $0 = now }
        if let first = certificates.map(\.validUntil).min() { expiry.record(Double(first.seconds)) }
        for certificate in certificates { look(at: certificate, now) }
    }

    private func look(at certificate: ListenerCertificate, _ now: Timestamp) {
        let end = certificate.validUntil
        let metadata: Logger.Metadata = ["file": "\(certificate.certificateFile)", "ends": "\(end.rfc3339)"]
        if end <= now {
            logger.error("the listener's certificate has ended and clients refuse it; renew it", metadata: metadata)
        } else if end - now <= ListenerCheck.notice {
            let days = (end - now).components.seconds / 86_400
            logger.warning(
                "the listener's certificate ends soon; renew it",
                metadata: metadata.merging(["days": "\(days)"]) { $1 })
        }
    }

    /// Looks at the files until graceful shutdown.
    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    try await self.clock.sleep(for: Self.interval)
                    self.reloadIfChanged()
                    let last = self.remindedAt.withLock { $0 }
                    if last.map({ self.wallTime() - $0 >= Self.reminder }) ?? true { self.look() }
                }
            }
        } catch is CancellationError {
            // Stopping either way.
        }
    }
}
