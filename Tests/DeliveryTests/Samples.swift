import Delivery
import FCMWire
import JSON
import PushModel
import Store
import Synchronization

/// Values that the tests share.
enum Sample {
    static let start = Timestamp(seconds: 1_800_000_000)
    static let appID = AppID(rawValue: "com.example.app")!
    static let projectID = ProjectID(rawValue: "demo")!
    static let topic = Topic(rawValue: "news")!

    static let project = Project(id: projectID, number: 123, apps: [app()])

    static func app(_ id: AppID = appID, keys: FirebaseKeys = .standard) -> App {
        App(id: id, environment: .production, firebaseKeys: keys)
    }

    static func content(_ json: String = #"{"notification":{"title":"Hello"}}"#) throws -> FCMMessage {
        try FCMMessage(source: JSONValue(parsing: Array(json.utf8)))
    }

    /// Registration number `number`, made and refreshed at ``start``.
    static func registration(
        _ number: Int64, project: ProjectID = projectID, app: AppID = appID, end: RegistrationEnd? = nil
    ) -> Registration {
        let digits = String(number)
        let id = "c" + String(repeating: "A", count: 21 - digits.count) + digits
        return Registration(
            key: RegistrationKey(rawValue: number), id: RegistrationID(rawValue: id)!,
            token: RegistrationToken(rawValue: id + ":APA91b_token" + digits)!, project: project, app: app,
            address: .apple(DeviceToken(bytes: Array("device \(number)".utf8))!, .production),
            appVersion: nil, createdAt: start, refreshedAt: start, end: end)
    }

    static func submission(
        to recipient: Recipient<Registration, [Addressee]>, project: Project = project,
        _ json: String = #"{"notification":{"title":"Hello"}}"#
    ) throws -> Submission {
        Submission(
            project: project, recipient: recipient, content: try content(json), credential: .gateway)
    }
}

/// How far somebody set the wall clock.
final class Dial: Sendable {
    private let value = Mutex(Duration.zero)

    var offset: Duration {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}

extension ImportedRegistration {
    /// A registration as an import brings it.
    init(_ registration: Registration, topics: [Topic]) {
        self.init(app: registration.app, address: registration.address)
        id = registration.id
        token = registration.token
        self.topics = topics.map { ImportedTopic($0) }
        createdAt = registration.createdAt
        refreshedAt = registration.refreshedAt
        provenAt = registration.provenAt
    }
}

extension PushRoute {
    /// The way of a registration.
    init(_ registration: Registration) {
        self.init(project: registration.project, app: registration.app, channel: registration.channel)
    }
}
