/// A project as configured: what the gateway needs of it to accept messages. How an app reaches its upstream
/// (team, key, endpoint) is the upstream's matter and not part of it, but for the kind of credential.
package struct Project: Hashable, Sendable {
    /// The id, unique in a gateway.
    package let id: ProjectID
    /// The project number (FCM's sender id), unique in a gateway; accepted in paths wherever the id is.
    package let number: Int64
    /// Its apps by bundle id.
    package let apps: [AppID: App]
    /// What becomes of registrations that were not refreshed for long.
    package let stale: StalePolicy
    /// Which topics its clients may make.
    package let topics: TopicPolicy
    /// Its share of the lanes beside other projects that send at the same time, 1 to 100: twice the weight, twice the
    /// deliveries.
    package let weight: Int
    /// Whether clients register with an installation only.
    package let requiresInstallation: Bool

    /// Puts a project together; `apps` have different ids. A weight outside of 1 to 100 becomes the nearer end.
    package init(
        id: ProjectID, number: Int64, apps: [App], stale: StalePolicy = StalePolicy(),
        topics: TopicPolicy = TopicPolicy(), weight: Int = 1, requiresInstallation: Bool = true
    ) {
        self.requiresInstallation = requiresInstallation
        self.id = id
        self.number = number
        self.stale = stale
        self.topics = topics
        self.weight = min(max(weight, 1), 100)
        self.apps = Dictionary(apps.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    }
}

/// An app of a project.
package struct App: Hashable, Sendable {
    /// The bundle id of an Apple app, the host of a web app.
    package let id: AppID
    /// By what it is reached.
    package let platform: Platform
    /// The environment of registrations that do not name one.
    package let environment: APNSEnvironment
    /// Which of FCM's own keys its payloads carry.
    package let firebaseKeys: FirebaseKeys
    /// By what its upstream knows the gateway: some push types need the one, some the other.
    package let credential: APNSCredentialKind
    /// Whether each environment has an endpoint of its own: a device token that is refused in one can be tried in the
    /// other.
    package let reachesBothEnvironments: Bool

    /// Describes an Apple app.
    package init(
        id: AppID, environment: APNSEnvironment, firebaseKeys: FirebaseKeys,
        credential: APNSCredentialKind = .providerToken, reachesBothEnvironments: Bool = false
    ) {
        self.id = id
        platform = .apple
        self.environment = environment
        self.firebaseKeys = firebaseKeys
        self.credential = credential
        self.reachesBothEnvironments = reachesBothEnvironments
    }

    /// Describes a web app: the host of the pages that register. Nothing is sent to it yet.
    package init(web id: AppID) {
        self.id = id
        platform = .web
        environment = .production
        firebaseKeys = .none
        credential = .providerToken
        reachesBothEnvironments = false
    }
}

/// By what an app is reached.
package enum Platform: String, Hashable, Sendable, CaseIterable {
    /// Apple's push service.
    case apple
    /// The push service of a browser.
    case web

    /// Whether pushes are sent to it.
    package var isServed: Bool {
        switch self {
        case .apple: true
        case .web: false
        }
    }
}

/// The two kinds of credential that APNs takes.
package enum APNSCredentialKind: String, Hashable, Sendable, CaseIterable {
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

/// The two separate worlds of APNs: a device token of one is a BadDeviceToken in the other.
package enum APNSEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `api.push.apple.com`: App Store, TestFlight and enterprise builds.
    case production
    /// `api.sandbox.push.apple.com`: development builds.
    case sandbox

    /// The other one of the two.
    package var other: APNSEnvironment {
        switch self {
        case .production: .sandbox
        case .sandbox: .production
        }
    }
}
