public import PushModel
public import Signing

/// How the pushes of one app reach APNs.
public struct APNSAppConfiguration: Sendable {
    /// The project.
    public var project: ProjectID
    /// The bundle id.
    public var app: AppID
    /// What shows APNs who pushes.
    public var credential: APNSCredential
    /// Where each environment's requests go.
    public var endpoints: [APNSEnvironment: APNSEndpoint]
    /// The certificate authorities to trust; `nil`: the system's.
    public var trustFile: String?
    /// The proxy that leads to each environment's endpoint; without an entry the way is direct.
    public var proxies: [APNSEnvironment: APNSProxy]

    /// Describes the way of one app.
    public init(
        project: ProjectID, app: AppID, credential: APNSCredential,
        endpoints: [APNSEnvironment: APNSEndpoint], trustFile: String?, proxies: [APNSEnvironment: APNSProxy] = [:]
    ) {
        self.project = project
        self.app = app
        self.credential = credential
        self.endpoints = endpoints
        self.trustFile = trustFile
        self.proxies = proxies
    }

    /// Describes the way of an app that has a provider key.
    public init(
        project: ProjectID, app: AppID, teamID: String, keyID: String, key: ES256PrivateKey,
        endpoints: [APNSEnvironment: APNSEndpoint], trustFile: String?, proxies: [APNSEnvironment: APNSProxy] = [:]
    ) {
        self.init(
            project: project, app: app, credential: .providerKey(teamID: teamID, keyID: keyID, key: key),
            endpoints: endpoints, trustFile: trustFile, proxies: proxies)
    }
}

/// What shows APNs who pushes: one of two ways (Apple, "Establishing a connection to APNs").
public enum APNSCredential: Sendable {
    /// A provider key, which signs the provider tokens that each request carries: 10-character ids of team and key.
    case providerKey(teamID: String, keyID: String, key: ES256PrivateKey)
    /// A client certificate, which TLS shows once for each connection; requests carry no token.
    case certificate(ClientIdentity)
}

/// Host and port of an APNs service.
public struct APNSEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// Host name or address.
    public var host: String
    /// TCP port.
    public var port: Int

    /// Names an endpoint.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// `host:port`.
    public var description: String { "\(host):\(port)" }

    /// Apple's own endpoint of an environment.
    public static func apple(_ environment: APNSEnvironment) -> APNSEndpoint {
        switch environment {
        case .production: APNSEndpoint(host: "api.push.apple.com", port: 443)
        case .sandbox: APNSEndpoint(host: "api.sandbox.push.apple.com", port: 443)
        }
    }
}
