package import PushModel
package import Signing

/// How the browsers of one web app are reached.
package struct WebPushAppConfiguration: Sendable {
    /// The project.
    package var project: ProjectID
    /// The app: the host of its pages.
    package var app: AppID
    /// Who is responsible: a `mailto:` or `https:` URL, which services ask for in each token (RFC 8292 §2.1).
    package var subject: String
    /// The keys that pages subscribed with, the present one first. A subscription stays with its key.
    package var keys: [ES256PrivateKey]
    /// Push services beside the public ones: `host`, or `host:port`.
    package var services: [PushServiceName]
    /// The authorities to trust; `nil`: the system's.
    package var trustFile: String?

    /// Describes an app.
    package init(
        project: ProjectID, app: AppID, subject: String, keys: [ES256PrivateKey], services: [PushServiceName] = [],
        trustFile: String? = nil
    ) {
        self.project = project
        self.app = app
        self.subject = subject
        self.keys = keys
        self.services = services
        self.trustFile = trustFile
    }
}
