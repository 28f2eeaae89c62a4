package import PushModel

/// One change of who is reached at a device.
package struct RegistrationAudit: Hashable, Sendable {
    /// Why the owner changed.
    package enum Cause: String, Hashable, Sendable {
        /// A registration without a user got one.
        case userAssigned = "user_assigned"
        /// Another user, or none, was registered on the device.
        case userChanged = "user_changed"
        /// A registration took over the device token of another one.
        case deviceTokenMoved = "device_token_moved"
        /// A registration has another device token, which no other one had.
        case deviceTokenChanged = "device_token_changed"
    }

    /// When.
    package let time: Timestamp
    /// Why.
    package let cause: Cause
    /// The app.
    package let app: AppID
    /// Whose the device is since.
    package let registration: RegistrationID
    /// Whose it was; `nil` if the registration is the same.
    package let former: RegistrationID?
    /// The user since.
    package let user: UserID?
    /// The user before.
    package let formerUser: UserID?
    /// What the change was made with; `nil`: not known.
    package let credential: String?

    /// Puts an entry together.
    package init(
        time: Timestamp, cause: Cause, app: AppID, registration: RegistrationID, former: RegistrationID?,
        user: UserID?, formerUser: UserID?, credential: String? = nil
    ) {
        self.credential = credential
        self.time = time
        self.cause = cause
        self.app = app
        self.registration = registration
        self.former = former
        self.user = user
        self.formerUser = formerUser
    }
}
