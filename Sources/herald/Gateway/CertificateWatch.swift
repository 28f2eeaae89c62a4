import Logging
import PushModel
import ServiceLifecycle
import Synchronization

/// The client certificate of an app, as far as its end matters.
struct WatchedCertificate: Hashable, Sendable {
    /// The project.
    var project: ProjectID
    /// The app that pushes with it.
    var app: AppID
    /// Where the project file names it.
    var place: ConfigurationPlace
    /// Since when it is valid.
    var validFrom: Timestamp
    /// Until when it is valid.
    var validUntil: Timestamp
}

/// Warns of client certificates before they end, and after: when they are read, and then once a day.
///
/// A certificate that has ended does not keep the gateway from starting: other apps have theirs, and APNs has the last
/// word. Safe to use from any task; ``run()`` is the daily part.
final class CertificateWatch: Service {
    /// How long before the end the warnings begin: Apple's own reminders come 30 days ahead too.
    static let notice: Duration = .seconds(30 * 86_400)
    /// Time between two looks.
    static let interval: Duration = .seconds(86_400)

    private let certificates = Mutex<[WatchedCertificate]>([])
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let logger: Logger

    /// Watches nothing yet.
    init(clock: any Clock<Duration>, wallTime: @escaping WallTime, logger: Logger) {
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
    }

    /// The files that are watched now.
    var watched: [WatchedCertificate] { certificates.withLock { $0 } }

    /// Watches these certificates from now on, and looks at them at once.
    func watch(_ certificates: [WatchedCertificate]) {
        self.certificates.withLock { $0 = certificates }
        look()
    }

    /// Looks once a day, until graceful shutdown.
    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    try await self.clock.sleep(for: Self.interval)
                    self.look()
                }
            }
        } catch is CancellationError {
            // Stopping either way.
        }
    }

    private func look() {
        let now = wallTime()
        for certificate in watched {
            let left = certificate.validUntil - now
            let metadata: Logger.Metadata = [
                "project": "\(certificate.project.rawValue)", "app": "\(certificate.app.rawValue)",
                "file": "\(certificate.place)", "ends": "\(certificate.validUntil.rfc3339)",
            ]
            if left <= .zero {
                logger.error(
                    "the app's certificate has ended and APNs refuses it; renew it and send SIGHUP", metadata: metadata)
            } else if left <= Self.notice {
                logger.warning(
                    "the app's certificate ends soon; renew it and send SIGHUP",
                    metadata: metadata.merging(["days": "\(left.components.seconds / 86_400)"]) { $1 })
            } else if certificate.validFrom > now {
                logger.warning(
                    "the app's certificate is not valid yet",
                    metadata: metadata.merging(["begins": "\(certificate.validFrom.rfc3339)"]) { $1 })
            }
        }
    }
}
