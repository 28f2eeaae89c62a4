package import PushModel

/// What an app says when it registers.
package struct RegistrationRequest: Sendable {
    /// The project.
    package var project: ProjectID
    /// The app.
    package var app: AppID
    /// The token that APNs gave it.
    package var deviceToken: DeviceToken
    /// The environment that issued the token.
    package var environment: APNSEnvironment
    /// Whether the app said so. Otherwise ``environment`` is for a new registration only: one that exists keeps its own.
    package var isEnvironmentStated: Bool
    /// The app's version.
    package var appVersion: String?
    /// Who uses the device now; `nil`: the app did not say.
    package var owner: RegistrationOwner?
    /// How the browser is reached, of a web app; ``deviceToken`` is the SHA-256 of its endpoint then.
    package var web: WebSubscription?
    /// Whether who asks may refresh a registration that belongs to an installation, of which nothing is proven here.
    /// Otherwise such a one is superseded, and a new registration inherits nothing from it.
    package var refreshesBound: Bool
    /// What the request was made with, for the audit; `nil`: the gateway itself.
    package var credential: ProvenCredential?

    /// Puts a request together.
    package init(
        project: ProjectID, app: AppID, deviceToken: DeviceToken, environment: APNSEnvironment,
        isEnvironmentStated: Bool = true, appVersion: String?, owner: RegistrationOwner? = nil,
        web: WebSubscription? = nil, refreshesBound: Bool = true, credential: ProvenCredential? = nil
    ) {
        self.refreshesBound = refreshesBound
        self.credential = credential
        self.owner = owner
        self.web = web
        self.project = project
        self.app = app
        self.deviceToken = deviceToken
        self.environment = environment
        self.isEnvironmentStated = isEnvironmentStated
        self.appVersion = appVersion
    }
}

/// What an app says about who uses the device.
package enum RegistrationOwner: Hashable, Sendable {
    /// No user: who used it has signed out.
    case noUser
    /// This user.
    case user(UserID)

    /// The user, if there is one.
    package var user: UserID? {
        guard case .user(let user) = self else { return nil }
        return user
    }
}

/// What an app changes about its registration; `nil` leaves a field as it is.
package struct RegistrationChange: Sendable {
    /// A rotated device token.
    package var deviceToken: DeviceToken?
    /// Its environment.
    package var environment: APNSEnvironment?
    /// The app's version.
    package var appVersion: String?
    /// Who uses the device.
    package var owner: RegistrationOwner?
    /// How the browser is reached, of a web app, together with ``deviceToken``.
    package var web: WebSubscription?
    /// Whether who asks proved to be the device, so that user and topics follow another device token. Otherwise topics end
    /// there, and so does the user unless ``owner`` says one.
    package var keepsTopics = true
    /// What the change is made with, for the audit; `nil`: the gateway itself.
    package var credential: ProvenCredential?

    /// No change; the registration is still refreshed.
    package init(
        deviceToken: DeviceToken? = nil, environment: APNSEnvironment? = nil, appVersion: String? = nil,
        owner: RegistrationOwner? = nil, web: WebSubscription? = nil, credential: ProvenCredential? = nil
    ) {
        self.owner = owner
        self.web = web
        self.deviceToken = deviceToken
        self.environment = environment
        self.appVersion = appVersion
        self.credential = credential
    }
}
