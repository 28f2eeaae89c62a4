package import PushModel

/// What an app says when it registers.
package struct RegistrationRequest: Sendable {
    /// The project.
    package var project: ProjectID
    /// The app.
    package var app: AppID
    /// Where its push service finds it.
    package var address: Address
    /// Whether the app said which environment ``address`` is of. Otherwise that is for a new registration only: one that
    /// exists keeps its own.
    package var isEnvironmentStated: Bool
    /// The app's version.
    package var appVersion: String?
    /// Who uses the device now; `nil`: the app did not say.
    package var owner: RegistrationOwner?
    /// Whether who asks may refresh a registration that belongs to an installation, of which nothing is proven here.
    /// Otherwise such a one is superseded, and a new registration inherits nothing from it.
    package var refreshesBound: Bool
    /// What the request was made with, for the audit; `nil`: the gateway itself.
    package var credential: ProvenCredential?

    /// Puts a request together.
    package init(
        project: ProjectID, app: AppID, address: Address,
        isEnvironmentStated: Bool = true, appVersion: String?, owner: RegistrationOwner? = nil,
        refreshesBound: Bool = true, credential: ProvenCredential? = nil
    ) {
        self.refreshesBound = refreshesBound
        self.credential = credential
        self.owner = owner
        self.project = project
        self.app = app
        self.address = address
        self.isEnvironmentStated = isEnvironmentStated
        self.appVersion = appVersion
    }

    /// The app among those of the project.
    package var appKey: AppKey { AppKey(address.platform, app) }
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
    /// A rotated token, another environment, or another subscription of a browser.
    package var address: AddressChange?
    /// The app's version.
    package var appVersion: String?
    /// Who uses the device.
    package var owner: RegistrationOwner?
    /// Whether who asks proved to be the device, so that user and topics follow another address. Otherwise topics end
    /// there, and so does the user unless ``owner`` says one.
    package var keepsTopics = true
    /// What the change is made with, for the audit; `nil`: the gateway itself.
    package var credential: ProvenCredential?

    /// No change; the registration is still refreshed.
    package init(
        address: AddressChange? = nil, appVersion: String? = nil, owner: RegistrationOwner? = nil,
        credential: ProvenCredential? = nil
    ) {
        self.owner = owner
        self.address = address
        self.appVersion = appVersion
        self.credential = credential
    }
}
