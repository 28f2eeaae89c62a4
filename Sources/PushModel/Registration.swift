/// One app install that can receive pushes.
package struct Registration: Hashable, Sendable {
    /// Its number in the store.
    package let key: RegistrationKey
    /// Its public id.
    package let id: RegistrationID
    /// What senders hold.
    package let token: RegistrationToken
    /// The project it belongs to.
    package let project: ProjectID
    /// The app that was installed.
    package let app: AppID
    /// Where its push service finds it.
    package var address: Address
    /// Who uses the device, as the app said it; `nil`: it did not say.
    package var user: UserID?
    /// The app's version as the app said it.
    package var appVersion: String?
    /// When it was first made.
    package let createdAt: Timestamp
    /// When the app last registered, refreshed or rotated it. A 410 older than this does not end it.
    package var refreshedAt: Timestamp
    /// When and why it ended; `nil` while it is active.
    package var end: RegistrationEnd?
    /// When its push service first accepted a push to ``address``; `nil` while it never did.
    package var provenAt: Timestamp?
    /// Since when and why fan-outs pass it by; `nil`: they do not.
    package var quarantine: Quarantine?
    /// Whether an installation made it: then a client changes it with that installation's auth token only. It stays so
    /// when the installation is forgotten.
    package let isBound: Bool

    /// Puts a registration together from its parts.
    package init(
        key: RegistrationKey, id: RegistrationID, token: RegistrationToken, project: ProjectID, app: AppID,
        address: Address, appVersion: String?, createdAt: Timestamp,
        refreshedAt: Timestamp, end: RegistrationEnd?, provenAt: Timestamp? = nil, quarantine: Quarantine? = nil,
        user: UserID? = nil, isBound: Bool = false
    ) {
        self.key = key
        self.id = id
        self.token = token
        self.project = project
        self.app = app
        self.address = address
        self.appVersion = appVersion
        self.createdAt = createdAt
        self.refreshedAt = refreshedAt
        self.end = end
        self.provenAt = provenAt
        self.quarantine = quarantine
        self.user = user
        self.isBound = isBound
    }

    /// Whether it has not ended.
    package var isActive: Bool { end == nil }

    /// Whether its push service has ever accepted a push to ``address``. Otherwise the address is a suspect.
    package var isProven: Bool { provenAt != nil }

    /// By which way it is reached.
    package var channel: Channel { address.channel }

    /// Its app among those of the project.
    package var appKey: AppKey { AppKey(address.platform, app) }

    /// Whether a message to it alone is taken at `time`: also while its quarantine may yet turn out to be a mistake.
    package func isAddressable(at time: Timestamp) -> Bool {
        guard let quarantine else { return isActive }
        return isActive && time - quarantine.time < Quarantine.grace
    }
}

/// When and why a registration ended.
package struct RegistrationEnd: Hashable, Sendable {
    /// When the gateway learned of it.
    package let time: Timestamp
    /// Why.
    package let cause: Cause

    /// Why a registration ended.
    package enum Cause: String, Hashable, Sendable {
        /// Its owner deleted it.
        case deleted
        /// APNs answered 410 with a time later than its last refresh.
        case unregistered
        /// Another registration of the same app took over its device token, or another user the device.
        case replaced
        /// An app install that is not its own named its device token. Its topics and its user are kept for
        /// ``RegistrationEnd/supersededLifetime``, for its own installation.
        case superseded
    }

    /// How long after it was superseded a registration can be taken back by its installation.
    package static let supersededLifetime: Duration = .seconds(30 * 86_400)

    /// Describes an end.
    package init(time: Timestamp, cause: Cause) {
        self.time = time
        self.cause = cause
    }
}

/// Since when and why fan-outs pass a registration by. Nothing is deleted: a refresh, an accepted push or an operator
/// lifts it.
package struct Quarantine: Hashable, Sendable {
    /// How long messages to the registration alone are still tried. Senders forget a token that they are told is
    /// unregistered, and a whole user base looks refused when an environment is configured wrongly.
    package static let grace: Duration = .seconds(7 * 86_400)

    /// When it began.
    package let time: Timestamp
    /// What APNs had against the device token.
    package let reason: Reason

    /// Describes a quarantine.
    package init(time: Timestamp, reason: Reason) {
        self.time = time
        self.reason = reason
    }
}

/// What a project does about registrations that were not refreshed for long (`registrations` of a project file). FCM
/// takes a token for stale after a month and lets it expire after 270 days.
package struct StalePolicy: Hashable, Sendable {
    /// What becomes of stale registrations.
    package enum Action: String, Hashable, Sendable, CaseIterable {
        /// Fan-outs pass them by; a message to one of them alone is still sent.
        case skip
        /// They are sent to like any other, and shown as stale.
        case flag
        /// They are sent to like any other, and nothing is said.
        case send
    }

    /// Days after the last refresh, 1 to 3650.
    package var afterDays = 270
    /// What becomes of them then.
    package var action: Action = .flag

    /// 270 days, flag.
    package init() {}

    /// The instant at `time` before which a last refresh makes a registration stale.
    package func limit(at time: Timestamp) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds - Int64(afterDays) * 86_400_000)
    }

    /// The earliest last refresh of the registrations that a fan-out accepted at `time` goes to; `nil`: to all.
    package func refreshedSince(at time: Timestamp) -> Timestamp? {
        action == .skip ? limit(at: time) : nil
    }

    /// Whether a registration is to be shown as stale at `time`.
    package func shows(_ registration: Registration, at time: Timestamp) -> Bool {
        action != .send && registration.isActive && registration.refreshedAt < limit(at: time)
    }
}
