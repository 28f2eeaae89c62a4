/// One app install that can receive pushes.
public struct Registration: Hashable, Sendable {
    /// Its number in the store.
    public let key: RegistrationKey
    /// Its public id.
    public let id: RegistrationID
    /// What senders hold.
    public let token: RegistrationToken
    /// The project it belongs to.
    public let project: ProjectID
    /// The app that was installed.
    public let app: AppID
    /// Where APNs finds the device.
    public var deviceToken: DeviceToken
    /// The APNs environment that issued ``deviceToken``.
    public var environment: APNSEnvironment
    /// The app's version as the app said it.
    public var appVersion: String?
    /// When it was first made.
    public let createdAt: Timestamp
    /// When the app last registered, refreshed or rotated it. A 410 older than this does not end it.
    public var refreshedAt: Timestamp
    /// When and why it ended; `nil` while it is active.
    public var end: RegistrationEnd?

    /// Puts a registration together from its parts.
    public init(
        key: RegistrationKey, id: RegistrationID, token: RegistrationToken, project: ProjectID, app: AppID,
        deviceToken: DeviceToken, environment: APNSEnvironment, appVersion: String?, createdAt: Timestamp,
        refreshedAt: Timestamp, end: RegistrationEnd?
    ) {
        self.key = key
        self.id = id
        self.token = token
        self.project = project
        self.app = app
        self.deviceToken = deviceToken
        self.environment = environment
        self.appVersion = appVersion
        self.createdAt = createdAt
        self.refreshedAt = refreshedAt
        self.end = end
    }

    /// Whether messages still go to it.
    public var isActive: Bool { end == nil }
}

/// When and why a registration ended.
public struct RegistrationEnd: Hashable, Sendable {
    /// When the gateway learned of it.
    public let time: Timestamp
    /// Why.
    public let cause: Cause

    /// Why a registration ended.
    public enum Cause: String, Hashable, Sendable {
        /// Its owner deleted it.
        case deleted
        /// APNs answered 410 with a time later than its last refresh.
        case unregistered
        /// Another registration of the same app took over its device token.
        case replaced
    }

    /// Describes an end.
    public init(time: Timestamp, cause: Cause) {
        self.time = time
        self.cause = cause
    }
}
