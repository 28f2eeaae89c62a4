import GatewayAPI
import HTTPListener
import PushModel
import Synchronization

/// The certificates and other credentials that the gateway uses, for `GET …/status`. Safe to use from any task.
final class CertificateList: Sendable {
    private let apps: CertificateWatch
    private let listener = Mutex<[ListenerCertificate]>([])
    private let credentials = Mutex<[ProjectID: [CredentialStatus]]>([:])

    /// The certificates of the apps that are watched; the listener's are not known before ``listens(with:)``.
    init(apps: CertificateWatch) {
        self.apps = apps
    }

    /// Takes the listener's certificates; none: it speaks no TLS.
    func listens(with certificates: [ListenerCertificate]) {
        listener.withLock { $0 = certificates }
    }

    /// Takes what the apps of each project sign in with from now on.
    func use(_ credentials: [ProjectID: [CredentialStatus]]) {
        self.credentials.withLock { $0 = credentials }
    }

    /// What the apps of a project sign in with.
    func credentials(of project: ProjectID) -> [CredentialStatus] {
        credentials.withLock { $0[project] ?? [] }
    }

    /// The listener's certificates and those of a project's apps, as they are in force now.
    func status(of project: ProjectID) -> [CertificateStatus] {
        let listener = listener.withLock { $0 }.map {
            CertificateStatus(subject: "listener", file: $0.certificateFile, validUntil: $0.validUntil)
        }
        let apps = apps.watched.filter { $0.project == project }.map {
            CertificateStatus(subject: $0.app.rawValue, file: "\($0.place)", validUntil: $0.validUntil)
        }
        return listener + apps
    }
}
