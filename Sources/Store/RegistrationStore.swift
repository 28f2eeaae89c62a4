public import PushModel

/// What an app says when it registers.
public struct RegistrationRequest: Sendable {
    /// The project.
    public var project: ProjectID
    /// The app.
    public var app: AppID
    /// The token that APNs gave it.
    public var deviceToken: DeviceToken
    /// The environment that issued the token.
    public var environment: APNSEnvironment
    /// Whether the app said so. Otherwise ``environment`` is for a new registration only: one that exists keeps its own.
    public var isEnvironmentStated: Bool
    /// The app's version.
    public var appVersion: String?

    /// Puts a request together.
    public init(
        project: ProjectID, app: AppID, deviceToken: DeviceToken, environment: APNSEnvironment,
        isEnvironmentStated: Bool = true, appVersion: String?
    ) {
        self.project = project
        self.app = app
        self.deviceToken = deviceToken
        self.environment = environment
        self.isEnvironmentStated = isEnvironmentStated
        self.appVersion = appVersion
    }
}

/// What an app changes about its registration; `nil` leaves a field as it is.
public struct RegistrationChange: Sendable {
    /// A rotated device token.
    public var deviceToken: DeviceToken?
    /// Its environment.
    public var environment: APNSEnvironment?
    /// The app's version.
    public var appVersion: String?

    /// No change; the registration is still refreshed.
    public init(
        deviceToken: DeviceToken? = nil, environment: APNSEnvironment? = nil, appVersion: String? = nil
    ) {
        self.deviceToken = deviceToken
        self.environment = environment
        self.appVersion = appVersion
    }
}

/// The registry of app installs.
public protocol RegistrationStore: Sendable {
    /// Registers an install. (project, app, device token) is unique among active registrations: the same again
    /// refreshes the same one, which ends its quarantine, and keeps its id and token; `isNew` tells which it was.
    func register(
        _ request: RegistrationRequest, at time: Timestamp
    ) async throws(StoreError) -> (registration: Registration, isNew: Bool)

    /// The registration with this FID, also an ended one.
    func registration(_ id: RegistrationID, in project: ProjectID) async throws(StoreError) -> Registration?

    /// The registration with this token, also an ended one.
    func registration(
        token: RegistrationToken, in project: ProjectID
    ) async throws(StoreError) -> Registration?

    /// Changes an active registration and refreshes it, which ends its quarantine. If another active registration of the app holds the new
    /// device token, that one ends as `replaced` in the same step.
    ///
    /// - Returns: the registration as it is now; `nil` if it is not active.
    func change(
        _ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp
    ) async throws(StoreError) -> Registration?

    /// Lifts the quarantines of an app's registrations that began at `time` or later.
    ///
    /// - Returns: how many.
    func liftQuarantine(
        of app: AppID, in project: ProjectID, since time: Timestamp
    ) async throws(StoreError) -> Int

    /// Ends a registration and its subscriptions. Ended ones stay as they are.
    func end(_ key: RegistrationKey, _ end: RegistrationEnd) async throws(StoreError)
}

/// A registration's subscription to a topic.
public struct Subscription: Hashable, Sendable {
    /// The topic.
    public var topic: Topic
    /// Since when.
    public var createdAt: Timestamp

    /// Puts a subscription together.
    public init(topic: Topic, createdAt: Timestamp) {
        self.topic = topic
        self.createdAt = createdAt
    }
}

/// Who gets the messages of which topic.
public protocol SubscriptionStore: Sendable {
    /// Subscribes registrations to a topic in one step; the results are in the order of `keys`.
    func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp
    ) async throws(StoreError) -> [SubscribeResult]

    /// Ends subscriptions in one step, in order: whether each was there.
    func unsubscribe(_ keys: [RegistrationKey], from topic: Topic) async throws(StoreError) -> [Bool]

    /// One subscription.
    func subscription(of key: RegistrationKey, to topic: Topic) async throws(StoreError) -> Subscription?

    /// Up to `limit` subscriptions of a registration in the order of the topics' bytes, after `topic`.
    func subscriptions(
        of key: RegistrationKey, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [Subscription]
}

/// What became of one subscription.
public enum SubscribeResult: Hashable, Sendable {
    /// It is new.
    case created(Subscription)
    /// It was there.
    case existed(Subscription)
    /// The registration has 2000 topics (FCM's limit).
    case tooManyTopics
    /// The registration is not active.
    case notActive
}
