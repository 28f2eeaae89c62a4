package import PushModel
package import Signing
package import Upstream

/// How the pushes of one app reach APNs.
package struct APNSAppConfiguration: Sendable {
    /// The project.
    package var project: ProjectID
    /// The bundle id.
    package var app: AppID
    /// What shows APNs who pushes.
    package var credential: APNSCredential
    /// Where each environment's requests go.
    package var endpoints: [PushEnvironment: UpstreamEndpoint]
    /// Where each environment's broadcasts go; without an entry to ``endpoints``, as Apple's text has it (the samples beside
    /// it name hosts of their own).
    package var broadcastEndpoints: [PushEnvironment: UpstreamEndpoint] = [:]
    /// Where each environment's broadcast channels are managed; without an entry at Apple's own host.
    package var channelEndpoints: [PushEnvironment: UpstreamEndpoint] = [:]
    /// The most publications to one channel within a minute; what is beyond waits. `nil`: any number.
    package var publicationLimit: Int?
    /// The certificate authorities to trust; `nil`: the system's.
    package var trustFile: String?
    /// The proxy that leads to each environment's endpoint; without an entry the way is direct.
    package var proxies: [PushEnvironment: UpstreamProxy]

    /// Describes the way of one app.
    package init(
        project: ProjectID, app: AppID, credential: APNSCredential,
        endpoints: [PushEnvironment: UpstreamEndpoint], trustFile: String?,
        proxies: [PushEnvironment: UpstreamProxy] = [:]
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
        endpoints: [PushEnvironment: UpstreamEndpoint], trustFile: String?,
        proxies: [PushEnvironment: UpstreamProxy] = [:]
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

extension UpstreamEndpoint {
    /// Apple's own endpoint of an environment.
    package static func apple(_ environment: PushEnvironment) -> UpstreamEndpoint {
        switch environment {
        case .production: UpstreamEndpoint(host: "api.push.apple.com", port: 443)
        case .sandbox: UpstreamEndpoint(host: "api.sandbox.push.apple.com", port: 443)
        }
    }
}
