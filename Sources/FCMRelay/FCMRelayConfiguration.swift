package import PushModel
package import Upstream

/// How the pushes of one Android app reach Google.
package struct FCMRelayAppConfiguration: Sendable {
    /// The project.
    package var project: ProjectID
    /// The package name.
    package var app: AppID
    /// Who sends, by Google's books. Its project is the one that is sent to: the project here may have another name.
    package var account: ServiceAccount
    /// Where messages are sent.
    package var endpoint: UpstreamEndpoint
    /// The certificate authorities to trust; `nil`: the system's.
    package var trustFile: String?
    /// The proxy that leads to Google, for messages and for access tokens; `nil`: the way is direct.
    package var proxy: UpstreamProxy?
    /// The most messages a second; 0: no limit. Apps with the same account and endpoint share it.
    package var maxPerSecond: Int

    /// Google allows 600,000 messages a minute to a project (fcm-relay.md §5); this stays below.
    package static let defaultMaxPerSecond = 9000

    /// Describes the way of one app.
    package init(
        project: ProjectID, app: AppID, account: ServiceAccount, endpoint: UpstreamEndpoint = .google,
        trustFile: String? = nil, proxy: UpstreamProxy? = nil,
        maxPerSecond: Int = FCMRelayAppConfiguration.defaultMaxPerSecond
    ) {
        self.project = project
        self.app = app
        self.account = account
        self.endpoint = endpoint
        self.trustFile = trustFile
        self.proxy = proxy
        self.maxPerSecond = maxPerSecond
    }
}

/// A configuration that can't be used.
package struct FCMRelayConfigurationError: Error, Sendable {
    /// The project.
    package let project: ProjectID
    /// The app.
    package let app: AppID
    /// The field of the app's `fcm` block, such as `trust`.
    package let field: String
    /// What is wrong, in words.
    package let message: String
}

extension UpstreamEndpoint {
    /// Google's own endpoint for messages.
    package static let google = UpstreamEndpoint(host: "fcm.googleapis.com", port: 443)
}
