package import PushModel

/// What an app signs in with at its push service.
package struct CredentialStatus: Hashable, Sendable {
    /// What it is.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A key of Apple's (.p8).
        case apnsKey = "APNS_KEY"
        /// A client certificate for APNs.
        case certificate = "CERTIFICATE"
        /// An account of Google's.
        case serviceAccount = "SERVICE_ACCOUNT"
        /// A key for push services of browsers.
        case vapidKey = "VAPID_KEY"
    }

    /// The app.
    package var app: AppKey
    /// What it is.
    package var kind: Kind
    /// What it is called: team and key id, the account's address, a public key. No secret.
    package var name: String
    /// The file.
    package var file: String
    /// When the file was written last, as it was read: a key has no time of its own. `nil`: not known.
    package var modified: Timestamp?
    /// Until when it is valid; `nil`: it has no end.
    package var validUntil: Timestamp?
    /// The word of an upstream's name that says that it uses this credential.
    package var upstreamWord: String

    /// Describes a credential.
    package init(
        app: AppKey, kind: Kind, name: String, file: String, modified: Timestamp?, validUntil: Timestamp? = nil,
        upstreamWord: String
    ) {
        self.app = app
        self.kind = kind
        self.name = name
        self.file = file
        self.modified = modified
        self.validUntil = validUntil
        self.upstreamWord = upstreamWord
    }

    /// Whether an upstream uses it for its app.
    func isUsed(by upstream: UpstreamStatus, in project: ProjectID) -> Bool {
        let isOfApp = upstream.routes.contains {
            $0.project == project && $0.app == app.id && $0.channel.platform == app.platform
        }
        return isOfApp && upstream.name.split(separator: " ").contains(Substring(upstreamWord))
    }
}
