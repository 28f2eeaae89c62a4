/// What a delivery needs to know of a registration, and no more: read a million times for a broadcast.
package struct DeliveryRegistration: Hashable, Sendable {
    /// Its number in the store.
    package var key: RegistrationKey
    /// Its FID.
    package var id: RegistrationID
    /// Its app.
    package var app: AppID
    /// Where APNs finds the device.
    package var deviceToken: DeviceToken
    /// The APNs environment that issued ``deviceToken``.
    package var environment: APNSEnvironment
    /// Whether it has not ended.
    package var isActive: Bool
    /// When the app last registered, refreshed or rotated it.
    package var refreshedAt: Timestamp
    /// When APNs first accepted a push to ``deviceToken``; `nil` while it never did.
    package var provenAt: Timestamp?
    /// Whether it is quarantined.
    package var isQuarantined: Bool

    /// Puts it together.
    package init(
        key: RegistrationKey, id: RegistrationID, app: AppID, deviceToken: DeviceToken, environment: APNSEnvironment,
        isActive: Bool, refreshedAt: Timestamp, provenAt: Timestamp?, isQuarantined: Bool
    ) {
        self.key = key
        self.id = id
        self.app = app
        self.deviceToken = deviceToken
        self.environment = environment
        self.isActive = isActive
        self.refreshedAt = refreshedAt
        self.provenAt = provenAt
        self.isQuarantined = isQuarantined
    }

    /// Takes what a delivery needs from a registration.
    package init(_ registration: Registration) {
        self.init(
            key: registration.key, id: registration.id, app: registration.app, deviceToken: registration.deviceToken,
            environment: registration.environment, isActive: registration.isActive,
            refreshedAt: registration.refreshedAt, provenAt: registration.provenAt,
            isQuarantined: registration.quarantine != nil)
    }

    /// Whether APNs has ever accepted a push to ``deviceToken``. Otherwise the token is a suspect.
    package var isProven: Bool { provenAt != nil }
}
