package import PushModel
package import Signing

/// How the pushes of one app reach APNs.
package struct APNSAppConfiguration: Sendable {
    /// The project.
    package var project: ProjectID
    /// The bundle id.
    package var app: AppID
    /// What shows APNs who pushes.
    package var credential: APNSCredential
    /// Where each environment's requests go.
    package var endpoints: [APNSEnvironment: APNSEndpoint]
    /// The certificate authorities to trust; `nil`: the system's.
    package var trustFile: String?
    /// The proxy that leads to each environment's endpoint; without an entry the way is direct.
    package var proxies: [APNSEnvironment: APNSProxy]

    /// Describes the way of one app.
    package init(
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
    package init(
        project: ProjectID, app: AppID, teamID: String, keyID: String, key: ES256PrivateKey,
        endpoints: [APNSEnvironment: APNSEndpoint], trustFile: String?, proxies: [APNSEnvironment: APNSProxy] = [:]
    ) {
        self.init(
            project: project, app: app, credential: .providerKey(teamID: teamID, keyID: keyID, key: key),
            endpoints: endpoints, trustFile: trustFile, proxies: proxies)
    }
}

/// What shows APNs who pushes: one of two ways (Apple, "Establishing a connection to APNs").
package enum APNSCredential: Sendable {
    /// A provider key, which signs the provider tokens that each request carries: 10-character ids of team and key.
    case providerKey(teamID: String, keyID: String, key: ES256PrivateKey)
    /// A client certificate, which TLS shows once for each connection; requests carry no token.
    case certificate(ClientIdentity)
}

/// Host and port of an APNs service.
package struct APNSEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// Host name or address.
    package var host: String
    /// TCP port.
    package var port: Int

    /// Names an endpoint.
    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// `host:port`.
    package var description: String { "\(host):\(port)" }

    /// Apple's own endpoint of an environment.
    package static func apple(_ environment: APNSEnvironment) -> APNSEndpoint {
        switch environment {
        case .production: APNSEndpoint(host: "api.push.apple.com", port: 443)
        case .sandbox: APNSEndpoint(host: "api.sandbox.push.apple.com", port: 443)
        }
    }
}
