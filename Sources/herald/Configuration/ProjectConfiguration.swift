import APNS
import FCMRelay
import GatewayAPI
import PushModel
import Signing
import Upstream
import WebPush

/// One project file, read and checked, keys loaded.
struct ProjectConfiguration: Sendable {
    /// The file it came from.
    var file: String
    /// `project`.
    var id: ProjectID
    /// `number`.
    var number: Int64
    /// `weight`.
    var weight: Int
    /// `apps` of the platform `apple` that APNs reaches.
    var apps: [AppConfiguration]
    /// All other `apps`.
    var otherApps: [App]
    /// How its web apps are reached.
    var browsers: [BrowserConfiguration] = []
    /// How its Android apps are reached.
    var androids: [AndroidConfiguration] = []
    /// `links`; `nil`: it has none.
    var links: LinkSettings?
    /// `registrations`.
    var stale = StalePolicy()
    /// `topics`.
    var topics = TopicPolicy()
    /// `registrations.requireInstallation`.
    var requiresInstallation = true
    /// `retention`, over the gateway's.
    var retention = RetentionPolicy()
    /// Where fields stand, by path.
    var places: [String: ConfigurationPlace]

    /// The project as senders see it.
    var project: Project {
        Project(
            id: id, number: number,
            apps: apps.map { app in
                App(
                    id: app.id, environment: app.environment, firebaseKeys: app.firebaseKeys,
                    credential: app.credentialKind, reachesBothEnvironments: app.reachesBothEnvironments,
                    links: app.links)
            } + otherApps, stale: stale, topics: topics, weight: weight,
            requiresInstallation: requiresInstallation, links: links, retention: retention)
    }

    /// The ways of its apps to APNs.
    ///
    /// - Parameter environmentProxy: for apps that do not say.
    func upstreams(environmentProxy: EnvironmentProxy?) -> [APNSAppConfiguration] {
        apps.map { app in
            var upstream = APNSAppConfiguration(
                project: id, app: app.id, credential: app.credential, endpoints: app.endpoints,
                trustFile: app.trustFile,
                proxies: app.endpoints.compactMapValues { endpoint in
                    switch app.proxy {
                    case .environment: environmentProxy?.proxy(for: endpoint)
                    case .direct: nil
                    case .proxy(let proxy): proxy
                    }
                })
            upstream.broadcastEndpoints = app.broadcastEndpoints
            upstream.channelEndpoints = app.channelEndpoints
            upstream.publicationLimit = app.publicationLimit
            return upstream
        }
    }

    /// The ways of its web apps to browsers.
    var browserUpstreams: [WebPushAppConfiguration] {
        browsers.map { app in
            WebPushAppConfiguration(
                project: id, app: app.id, subject: app.subject, keys: app.keys, services: app.services,
                trustFile: app.trustFile)
        }
    }

    /// The certificates of its apps.
    var certificates: [WatchedCertificate] {
        apps.compactMap { app in
            guard case .certificate(let identity) = app.credential else { return nil }
            let block = "\(app.field).apns"
            let place = places["\(block).p12"] ?? places["\(block).certificate"]
            return WatchedCertificate(
                project: id, app: app.id, place: place ?? ConfigurationPlace(source: file, line: nil),
                validFrom: Timestamp(seconds: identity.certificate.notBefore),
                validUntil: Timestamp(seconds: identity.certificate.notAfter))
        }
    }
}

extension AppConfiguration {
    /// Which push types it may send depends on this.
    fileprivate var credentialKind: CredentialKind {
        switch credential {
        case .providerKey: .providerToken
        case .certificate: .certificate
        }
    }

    /// Whether each environment has an endpoint of its own, and the credential is for both.
    fileprivate var reachesBothEnvironments: Bool {
        guard Set(endpoints.values).count == PushEnvironment.allCases.count else { return false }
        switch credential {
        case .providerKey: return true
        case .certificate(let identity): return identity.certificate.environments.count != 1
        }
    }
}

/// One app of a project file.
struct AppConfiguration: Sendable {
    /// `id`.
    var id: AppID
    /// Where it stands, such as `apps[0]`.
    var field: String
    /// `apns.environment`.
    var environment: PushEnvironment
    /// `firebaseKeys`.
    var firebaseKeys: FirebaseKeys
    /// `apns.team`, `apns.key` and `apns.keyID`, or the certificate.
    var credential: APNSCredential
    /// `apns.key`, `apns.p12` or `apns.certificate`.
    var credentialFile: CredentialFile
    /// `apns.endpoint`.
    var endpoints: [PushEnvironment: UpstreamEndpoint]
    /// `apns.broadcastEndpoint`; none: ``endpoints``.
    var broadcastEndpoints: [PushEnvironment: UpstreamEndpoint]
    /// `apns.channelEndpoint`; none: Apple's.
    var channelEndpoints: [PushEnvironment: UpstreamEndpoint]
    /// `apns.publicationsPerMinute`; `nil`: any number.
    var publicationLimit: Int?
    /// `apns.trust`; `nil`: the system's authorities.
    var trustFile: String?
    /// `apns.proxy`.
    var proxy: ProxyChoice
    /// What links need of it; without `appIDPrefix` the team stands in its place.
    var links: AppLinkIdentity
}

/// What a project file says about a proxy.
enum ProxyChoice: Sendable {
    /// Nothing: what the environment of the process names holds.
    case environment
    /// `none`.
    case direct
    /// This one, for every endpoint.
    case proxy(UpstreamProxy)
}

/// All project files of a directory, or all projects that are stored in a database.
struct ProjectSet: Sendable {
    /// The projects in the order of their files.
    var configurations: [ProjectConfiguration]
    /// What works but should be looked at.
    var warnings: [ConfigurationProblem]
    /// For apps whose file names no proxy.
    var environmentProxy: EnvironmentProxy?
    /// Keeps the certificates of authorities of stored projects, as long as a command needs them.
    var authorities: AuthorityFiles?

    /// The projects as senders see them.
    var projects: [Project] { configurations.map(\.project) }

    /// The ways to APNs.
    var upstreams: [APNSAppConfiguration] {
        configurations.flatMap { $0.upstreams(environmentProxy: environmentProxy) }
    }

    /// The ways to Google, for Android.
    var androids: [FCMRelayAppConfiguration] {
        configurations.flatMap { configuration in
            configuration.androids.map { $0.upstream(of: configuration.id, environmentProxy: environmentProxy) }
        }
    }

    /// The ways to browsers.
    var browsers: [WebPushAppConfiguration] { configurations.flatMap(\.browserUpstreams) }

    /// The certificates that stand for provider keys.
    var certificates: [WatchedCertificate] { configurations.flatMap(\.certificates) }

    /// What the apps of each project sign in with.
    var credentials: [ProjectID: [CredentialStatus]] {
        Dictionary(configurations.map { ($0.id, $0.credentials) }) { first, _ in first }
    }

    /// The problem that the sender found, at its line.
    func problem(of error: FCMRelayConfigurationError) -> ConfigurationProblem {
        guard let configuration = configurations.first(where: { $0.id == error.project }),
            let app = configuration.androids.first(where: { $0.id == error.app })
        else {
            return ConfigurationProblem(
                ConfigurationPlace(source: error.app.rawValue, line: nil), field: error.field, error.message)
        }
        let field = "\(app.field).fcm.\(error.field)"
        let place = configuration.places[field] ?? configuration.places["\(app.field).fcm"]
        return ConfigurationProblem(
            place ?? ConfigurationPlace(source: configuration.file, line: nil), field: field, error.message)
    }

    /// The problem that the sender found, at its line.
    func problem(of error: APNSConfigurationError) -> ConfigurationProblem {
        for configuration in configurations {
            guard let app = configuration.apps.first(where: { $0.id == error.app }) else { continue }
            let field = "\(app.field).apns.\(error.field)"
            let place = configuration.places[field] ?? configuration.places["\(app.field).apns"]
            return ConfigurationProblem(
                place ?? ConfigurationPlace(source: configuration.file, line: nil), field: field, error.message)
        }
        return ConfigurationProblem(
            ConfigurationPlace(source: error.app.rawValue, line: nil), field: error.field, error.message)
    }
}
