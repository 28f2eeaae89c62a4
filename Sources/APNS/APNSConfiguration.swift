public import PushModel
public import Signing

/// How the pushes of one app reach APNs.
public struct APNSAppConfiguration: Sendable {
    /// The project.
    public var project: ProjectID
    /// The bundle id.
    public var app: AppID
    /// The 10-character team id.
    public var teamID: String
    /// The 10-character key id.
    public var keyID: String
    /// The provider key.
    public var key: ES256PrivateKey
    /// Where each environment's requests go.
    public var endpoints: [APNSEnvironment: APNSEndpoint]
    /// The certificate authorities to trust; `nil`: the system's.
    public var trustFile: String?

    /// Describes the way of one app.
    public init(
        project: ProjectID, app: AppID, teamID: String, keyID: String, key: ES256PrivateKey,
        endpoints: [APNSEnvironment: APNSEndpoint], trustFile: String?
    ) {
        self.project = project
        self.app = app
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
        self.endpoints = endpoints
        self.trustFile = trustFile
    }
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
