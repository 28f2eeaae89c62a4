/// The links of a project as configured.
package struct LinkSettings: Hashable, Sendable {
    /// What its links begin with; no two have the same ``LinkPrefix/name``, in all projects.
    package var prefixes: [LinkPrefix]
    /// Where the preview page of iOS stands, on another host than the links: Safari opens no universal link from a page of
    /// the same host. `nil`: there is none, and iOS goes on as with `efr=1`.
    package var preview: LinkPrefix?
    /// The hosts that `link`, fallbacks and images may name: a name, or `*.` before one for its sub-domains. With neither
    /// targets nor patterns nothing is allowed.
    package var targets: [String]
    /// Regular expressions for whole URLs, as Google's allowlist had them; matched in linear time.
    package var patterns: [String]
    /// Bundle ids of apps whose installs are matched with clicks by address and device when there is no proof.
    package var heuristicApps: Set<AppID>
    /// Whether the links in messages become short links whose clicks the messages' reports show. They have the first prefix.
    package var tracksMessages = false
    /// How long clicks wait for apps.
    package var windows = ClickWindows()
    /// What referrals have to keep to.
    package var referralRules = ReferralRules()

    /// Puts settings together.
    package init(
        prefixes: [LinkPrefix], preview: LinkPrefix? = nil, targets: [String] = [], patterns: [String] = [],
        heuristicApps: Set<AppID> = []
    ) {
        self.prefixes = prefixes
        self.preview = preview
        self.targets = targets
        self.patterns = patterns
        self.heuristicApps = heuristicApps
    }
}

/// What links need to know of an app: by it they open the app, or the store's page of it.
package struct AppLinkIdentity: Hashable, Sendable {
    /// The App Store's number of an Apple app.
    package var appStoreID: Int64?
    /// What stands before the bundle id in the app id of an Apple app, usually its team; `nil`: no universal links.
    package var appIDPrefix: String?
    /// SHA-256 fingerprints of the certificates that an Android app is signed with, as `14:6D:…`.
    package var sha256: [String]

    /// Puts an identity together.
    package init(appStoreID: Int64? = nil, appIDPrefix: String? = nil, sha256: [String] = []) {
        self.appStoreID = appStoreID
        self.appIDPrefix = appIDPrefix
        self.sha256 = sha256
    }
}
