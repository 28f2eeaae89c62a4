/// A project as configured: what the gateway needs of it to accept messages. How an app reaches its upstream
/// (team, key, endpoint) is the upstream's matter and not part of it, but for the kind of credential.
package struct Project: Hashable, Sendable {
    /// The id, unique in a gateway.
    package let id: ProjectID
    /// The project number (FCM's sender id), unique in a gateway; accepted in paths wherever the id is.
    package let number: Int64
    /// Its apps by platform and id.
    package let apps: [AppKey: App]
    /// What becomes of registrations that were not refreshed for long.
    package let stale: StalePolicy
    /// Which topics its clients may make.
    package let topics: TopicPolicy
    /// Its share of the lanes beside other projects that send at the same time, 1 to 100: twice the weight, twice the
    /// deliveries.
    package let weight: Int
    /// Whether clients register with an installation only.
    package let requiresInstallation: Bool
    /// Its links; `nil`: it has none.
    package let links: LinkSettings?
    /// How long its messages are kept.
    package let retention: RetentionPolicy

    /// Puts a project together; `apps` differ in platform or id. A weight outside of 1 to 100 becomes the nearer end.
    package init(
        id: ProjectID, number: Int64, apps: [App], stale: StalePolicy = StalePolicy(),
        topics: TopicPolicy = TopicPolicy(), weight: Int = 1, requiresInstallation: Bool = true,
        links: LinkSettings? = nil, retention: RetentionPolicy = RetentionPolicy()
    ) {
        self.links = links
        self.retention = retention
        self.requiresInstallation = requiresInstallation
        self.id = id
        self.number = number
        self.stale = stale
        self.topics = topics
        self.weight = min(max(weight, 1), 100)
        self.apps = Dictionary(apps.map { ($0.key, $0) }, uniquingKeysWith: { _, last in last })
    }

    /// The app that sends to Google's registration tokens which nothing has registered here; `nil`: there is none.
    package var relayApp: App? { apps.values.first { $0.relaysUnknownTokens } }

    /// Its apps with this id, of any platform, in the order of the platforms' names.
    package func apps(_ id: AppID) -> [App] {
        apps.values.filter { $0.id == id }.sorted { $0.key < $1.key }
    }
}

/// An app of a project.
package struct App: Hashable, Sendable {
    /// What it has of one platform and no other.
    package enum Service: Hashable, Sendable {
        /// Reached by Apple's push service.
        case apple(DeviceService)
        /// Reached by Google's push service. `isReached`: whether there is an account to send as; otherwise devices register,
        /// and nothing is sent to them.
        case android(isReached: Bool)
        /// Reached by the push services of browsers; `nil`: browsers register, and nothing is sent to them.
        case web(BrowserService?)
        /// Not reached: links open it, nothing is sent to it and nothing registers.
        case linksOnly(Platform)
    }

    /// The bundle id of an Apple app, the package name of an Android app, the host of a web app.
    package let id: AppID
    /// By what it is reached.
    package let service: Service
    /// What links need to know of it.
    package var links: AppLinkIdentity
    /// Whether a message to one of Google's registration tokens that is not known here goes to Google as this app's. At
    /// most one app of a project does so.
    package var relaysUnknownTokens = false
    /// Whether a push that was sent and got no answer is sent again, and may be shown twice then. One that replaces the first
    /// on the screen is in any case.
    package var repeatsUnanswered = true

    /// Describes an app.
    package init(id: AppID, service: Service, links: AppLinkIdentity = AppLinkIdentity()) {
        self.id = id
        self.service = service
        self.links = links
    }

    /// Describes an Apple app.
    package init(
        id: AppID, environment: PushEnvironment, firebaseKeys: FirebaseKeys,
        credential: CredentialKind = .providerToken, reachesBothEnvironments: Bool = false,
        links: AppLinkIdentity = AppLinkIdentity()
    ) {
        self.init(
            id: id,
            service: .apple(
                DeviceService(
                    environment: environment, firebaseKeys: firebaseKeys, credential: credential,
                    reachesBothEnvironments: reachesBothEnvironments)), links: links)
    }

    /// Describes a web app: the host of the pages that register.
    ///
    /// - Parameter service: how their browsers are reached; `nil`: not.
    package init(web id: AppID, service: BrowserService? = nil) {
        self.init(id: id, service: .web(service))
    }

    /// The platform.
    package var platform: Platform {
        switch service {
        case .apple: .apple
        case .android: .android
        case .web: .web
        case .linksOnly(let platform): platform
        }
    }

    /// Whether pushes are sent to it.
    package var isServed: Bool {
        switch service {
        case .apple: true
        case .web(let service): service != nil
        case .android(let isReached): isReached
        case .linksOnly: false
        }
    }

    /// Whether its devices register.
    package var takesRegistrations: Bool {
        if case .linksOnly = service { false } else { true }
    }

    /// What tells it from the project's other apps.
    package var key: AppKey { AppKey(platform, id) }

    /// What an Apple app has that is reached; `nil`: it is none.
    package var deviceService: DeviceService? {
        guard case .apple(let service) = service else { return nil }
        return service
    }

    /// What a web app has whose browsers are reached; `nil`: it is none.
    package var browserService: BrowserService? {
        guard case .web(let service) = service else { return nil }
        return service
    }

    /// Whether each environment has an endpoint of its own: a device token that is refused in one can be tried in the
    /// other.
    package var reachesBothEnvironments: Bool { deviceService?.reachesBothEnvironments ?? false }

    /// The channels by which its devices are reached.
    package var channels: [Channel] { Channel.all.filter { $0.platform == platform && $0.isOfDevices } }
}

/// How an app with device tokens is reached and what its payloads carry.
package struct DeviceService: Hashable, Sendable {
    /// The environment of registrations that do not name one.
    package let environment: PushEnvironment
    /// Which of FCM's own keys its payloads carry.
    package let firebaseKeys: FirebaseKeys
    /// By what its upstream knows the gateway: some push types need the one, some the other.
    package let credential: CredentialKind
    /// Whether each environment has an endpoint of its own: a device token that is refused in one can be tried in the
    /// other.
    package let reachesBothEnvironments: Bool

    /// Describes a service.
    package init(
        environment: PushEnvironment, firebaseKeys: FirebaseKeys, credential: CredentialKind = .providerToken,
        reachesBothEnvironments: Bool = false
    ) {
        self.environment = environment
        self.firebaseKeys = firebaseKeys
        self.credential = credential
        self.reachesBothEnvironments = reachesBothEnvironments
    }
}

/// How the browsers of a web app are reached: what their subscriptions have to fit.
package struct BrowserService: Hashable, Sendable {
    /// The VAPID keys that pages may have subscribed with, the present one first: uncompressed points of 65 bytes.
    package let publicKeys: [[UInt8]]
    /// Push services beside the public ones.
    package let services: [PushServiceName]

    /// Describes a service.
    package init(publicKeys: [[UInt8]], services: [PushServiceName] = []) {
        self.publicKeys = publicKeys
        self.services = services
    }

    /// Whether an endpoint is of a push service that may be sent to: one of the public ones, or one that the project names.
    package func allows(endpoint: String) -> Bool {
        PushServiceName(endpoint: endpoint).map { $0.isPublic || services.contains($0) } ?? false
    }
}

/// What tells an app from the others of its project: an Apple and an Android app may have one id.
package struct AppKey: Hashable, Sendable {
    /// By what it is reached.
    package let platform: Platform
    /// The id.
    package let id: AppID

    /// Names an app.
    package init(_ platform: Platform, _ id: AppID) {
        self.platform = platform
        self.id = id
    }
}

extension AppKey: Comparable {
    /// By id, then by platform.
    package static func < (lhs: AppKey, rhs: AppKey) -> Bool {
        (lhs.id.rawValue, lhs.platform.rawValue) < (rhs.id.rawValue, rhs.platform.rawValue)
    }
}

/// The two kinds of credential that APNs takes.
package enum CredentialKind: String, Hashable, Sendable, CaseIterable {
    /// A provider token in each request, signed with a provider key.
    case providerToken
    /// A client certificate for the connection.
    case certificate
}

/// Which of FCM's own keys (`gcm.message_id`, `google.c.…`) go into the APNs payload beside the sender's.
package enum FirebaseKeys: String, Hashable, Sendable, CaseIterable {
    /// Exactly what the sender gave, nothing else.
    case none
    /// `gcm.message_id`, `google.c.sender.id`, for topics `from`, with a label `google.c.a.e` and `google.c.a.m_l`.
    case standard
    /// `standard` and, per device, `google.c.fid`: one splice into the finished bytes.
    case full
}
