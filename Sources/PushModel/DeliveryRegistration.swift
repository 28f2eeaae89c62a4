/// What a delivery needs to know of a registration, and no more: read a million times for a broadcast.
package struct DeliveryRegistration: Hashable, Sendable {
    /// Its number in the store.
    package var key: RegistrationKey
    /// Its FID.
    package var id: RegistrationID
    /// Its app.
    package var app: AppID
    /// Where its push service finds it.
    package var address: Address
    /// Whether it has not ended.
    package var isActive: Bool
    /// When the app last registered, refreshed or rotated it.
    package var refreshedAt: Timestamp
    /// When its push service first accepted a push to ``address``; `nil` while it never did.
    package var provenAt: Timestamp?
    /// Whether it is quarantined.
    package var isQuarantined: Bool

    /// Puts it together.
    package init(
        key: RegistrationKey, id: RegistrationID, app: AppID, address: Address,
        isActive: Bool, refreshedAt: Timestamp, provenAt: Timestamp?, isQuarantined: Bool
    ) {
        self.key = key
        self.id = id
        self.app = app
        self.address = address
        self.isActive = isActive
        self.refreshedAt = refreshedAt
        self.provenAt = provenAt
        self.isQuarantined = isQuarantined
    }

    /// Takes what a delivery needs from a registration.
    package init(_ registration: Registration) {
        self.init(
            key: registration.key, id: registration.id, app: registration.app, address: registration.address,
            isActive: registration.isActive,
            refreshedAt: registration.refreshedAt, provenAt: registration.provenAt,
            isQuarantined: registration.quarantine != nil)
    }

    /// Whether its push service has ever accepted a push to ``address``. Otherwise the address is a suspect.
    package var isProven: Bool { provenAt != nil }

    /// By which way it is reached.
    package var channel: Channel { address.channel }

    /// Its app among those of the project.
    package var appKey: AppKey { AppKey(address.platform, app) }
}
