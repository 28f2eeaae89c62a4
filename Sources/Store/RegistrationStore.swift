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
    /// Nobody in particular: who used it has signed out.
    case nobody
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

/// The registry of app installs.
package protocol RegistrationStore: Sendable {
    /// Registers an install. (project, app, device token) is unique among active registrations: the same again
    /// refreshes the same one, which ends its quarantine, and keeps its id and token; `isNew` tells which it was.
    ///
    /// A device whose registration has a user and that now says another, or nobody, gets a new registration with an id
    /// and a token of its own in the same step, and the old one ends as `replaced` with its subscriptions: what was
    /// meant for the one before is never sent to the one after. What an installation has is refreshed only for who may,
    /// see ``RegistrationRequest/refreshesBound``.
    func register(
        _ request: RegistrationRequest, at time: Timestamp
    ) async throws(StoreError) -> (registration: Registration, isNew: Bool)

    /// The registration with this FID, also an ended one.
    func registration(_ id: RegistrationID, in project: ProjectID) async throws(StoreError) -> Registration?

    /// The registration with this token, also an ended one.
    func registration(
        token: RegistrationToken, in project: ProjectID
    ) async throws(StoreError) -> Registration?

    /// The registrations of these names, in their order, also ended ones: many lookups in one call.
    func registrations(
        named names: [RegistrationReference], in project: ProjectID
    ) async throws(StoreError) -> [Registration?]

    /// The project of the registration with each of these tokens, whichever project it is, in their order, also of ended
    /// registrations; `nil`: there is none.
    func projects(of tokens: [RegistrationToken]) async throws(StoreError) -> [ProjectID?]

    /// The active registration of an app that holds a device token.
    func registration(
        holding deviceToken: DeviceToken, of app: AppID, in project: ProjectID
    ) async throws(StoreError) -> Registration?

    /// Changes an active registration and refreshes it, which ends its quarantine. If another active registration of the
    /// app holds the new device token, that one ends in the same step: as `superseded` if it belongs to an installation,
    /// otherwise as `replaced`. With another user than it has, the registration itself ends as `replaced`, and a new one
    /// takes its place as with ``register(_:at:)``.
    ///
    /// - Returns: the registration as it is now, or the new one; `nil` if it is not active.
    func change(
        _ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp
    ) async throws(StoreError) -> Registration?

    /// Up to `limit` active registrations of a user, in the order of their keys; quarantined and stale ones are among
    /// them.
    func registrations(
        of user: UserID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [Registration]

    /// A page of a project's registrations in the order of their keys. A page of a filter that few meet may be
    /// shorter than `limit`, or empty, and still have a next one: only so many are looked at for each.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func registrations(
        in project: ProjectID, _ filter: RegistrationFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Registration>

    /// The changes of user and device token in which a registration was the one before or after, the newest first; up to
    /// `limit`. They
    /// are kept longer than the registrations.
    func audit(
        of id: RegistrationID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [RegistrationAudit]

    /// Removes up to `limit` registrations that ended before a time and that nothing waits for any more, but for what
    /// reports need of them, and entries of the audit that are older than a year before that time.
    ///
    /// - Returns: registrations removed; fewer than `limit`: that was all.
    func purge(endedBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Lifts the quarantines of an app's registrations that began at `time` or later.
    ///
    /// - Returns: how many.
    func liftQuarantine(
        of app: AppID, in project: ProjectID, since time: Timestamp
    ) async throws(StoreError) -> Int

    /// Ends a project's registrations whose quarantine began before `time`, as `deleted`: nothing else removes what is in
    /// quarantine. In steps of bounded size; a failure leaves those that were ended before it.
    ///
    /// - Parameter isDryRun: they are counted and stay.
    /// - Returns: how many.
    func prune(
        quarantinedBefore time: Timestamp, in project: ProjectID, isDryRun: Bool, at now: Timestamp
    ) async throws(StoreError) -> Int

    /// Ends a registration and its subscriptions, which are kept aside for `superseded`. Ended ones stay as they are.
    func end(_ key: RegistrationKey, _ end: RegistrationEnd) async throws(StoreError)
}

/// Which registrations of a project are listed.
package enum RegistrationFilter: Hashable, Sendable {
    /// All that have not ended.
    case active
    /// Those that fan-outs pass by because APNs refused the device token.
    case quarantined
    /// Active ones that were last refreshed before this time.
    case stale(before: Timestamp)
    /// Active ones of a user.
    case user(UserID)
}

/// One change of who is reached at a device.
package struct RegistrationAudit: Hashable, Sendable {
    /// Why the owner changed.
    package enum Cause: String, Hashable, Sendable {
        /// A registration without a user got one.
        case userAssigned = "user_assigned"
        /// Another user, or nobody, was registered on the device.
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

/// A registration's subscription to a topic.
package struct Subscription: Hashable, Sendable {
    /// The topic.
    package var topic: Topic
    /// Since when.
    package var createdAt: Timestamp

    /// Puts a subscription together.
    package init(topic: Topic, createdAt: Timestamp) {
        self.topic = topic
        self.createdAt = createdAt
    }
}

/// Who gets the messages of which topic.
package protocol SubscriptionStore: Sendable {
    /// Subscribes registrations to a topic in one step; the results are in the order of `keys`.
    ///
    /// - Parameter topicLimit: a topic that is not there is made only while the project has fewer; `nil`: always.
    func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp, topicLimit: Int?
    ) async throws(StoreError) -> [SubscribeResult]

    /// Ends subscriptions in one step, in order: whether each was there.
    func unsubscribe(_ keys: [RegistrationKey], from topic: Topic) async throws(StoreError) -> [Bool]

    /// One subscription.
    func subscription(of key: RegistrationKey, to topic: Topic) async throws(StoreError) -> Subscription?

    /// Up to `limit` subscriptions of a registration in the order of the topics' bytes, after `topic`.
    func subscriptions(
        of key: RegistrationKey, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [Subscription]

    /// Up to `limit` topics of a project whose names begin with `prefix`, in the order of their bytes, after `topic`.
    /// A topic that was subscribed or sent to once stays without subscribers until it is purged.
    func topics(
        in project: ProjectID, beginningWith prefix: String, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [TopicSummary]

    /// One topic; `nil`: nobody ever subscribed or sent to it.
    func topic(_ topic: Topic, in project: ProjectID) async throws(StoreError) -> TopicSummary?

    /// Removes up to `limit` topics that have had no subscriber since before `time` and that no message is of. Since when a
    /// topic is empty counts from the first call that finds it so, at `now`.
    ///
    /// - Returns: how many; fewer than `limit`: that was all.
    func purgeTopics(emptySince time: Timestamp, at now: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// A page of a topic's subscribers in the order of their keys; `nil`: there is no such topic.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func subscribers(
        of topic: Topic, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Subscriber>?
}

extension SubscriptionStore {
    /// Subscribes registrations to a topic, which is made if it is not there.
    package func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp
    ) async throws(StoreError) -> [SubscribeResult] {
        try await subscribe(keys, to: topic, at: time, topicLimit: nil)
    }
}

/// A topic with its audience.
package struct TopicSummary: Hashable, Sendable {
    /// The topic.
    package var topic: Topic
    /// Active registrations that are subscribed.
    package var subscribers: Int

    /// Puts a summary together.
    package init(topic: Topic, subscribers: Int) {
        self.topic = topic
        self.subscribers = subscribers
    }
}

/// A registration that is subscribed to a topic.
package struct Subscriber: Sendable {
    /// The registration.
    package var registration: Registration
    /// Since when.
    package var subscribedAt: Timestamp

    /// Puts a subscriber together.
    package init(registration: Registration, subscribedAt: Timestamp) {
        self.registration = registration
        self.subscribedAt = subscribedAt
    }
}

/// What became of one subscription.
package enum SubscribeResult: Hashable, Sendable {
    /// It is new.
    case created(Subscription)
    /// It was there.
    case existed(Subscription)
    /// The registration has 2000 topics (FCM's limit).
    case tooManyTopics
    /// There is no such topic, and the project has as many as the caller may make.
    case noNewTopic
    /// The registration is not active.
    case notActive
}
