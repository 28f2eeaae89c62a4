import PushModel
import Store

/// Why a registration gets pushes or not, or why it got a certain message or not: one sentence, and a word for programs.
struct RegistrationVerdict: Hashable, Sendable {
    /// The kinds of verdicts. Names are stable; new ones are added.
    enum Code: String, CaseIterable, Sendable {
        // The registration.
        case endedUnregistered = "ENDED_UNREGISTERED"
        case endedDeleted = "ENDED_DELETED"
        case endedReplaced = "ENDED_REPLACED"
        case endedSuperseded = "ENDED_SUPERSEDED"
        case quarantined = "QUARANTINED"
        case stale = "STALE"
        case appUnknown = "APP_UNKNOWN"
        case platformNotServed = "PLATFORM_NOT_SERVED"
        case routePaused = "ROUTE_PAUSED"
        case nothingSent = "NOTHING_SENT"
        // A delivery.
        case accepted = "ACCEPTED"
        case rejected = "REJECTED"
        case expired = "EXPIRED"
        case cancelled = "CANCELLED"
        case inFlight = "IN_FLIGHT"
        // A message without a delivery to the registration.
        case messagePaused = "MESSAGE_PAUSED"
        case notClaimedYet = "NOT_CLAIMED_YET"
        case otherTarget = "OTHER_TARGET"
        case registeredLater = "REGISTERED_LATER"
        case subscribedLater = "SUBSCRIBED_LATER"
        case notSubscribed = "NOT_SUBSCRIBED"
        case notInAudience = "NOT_IN_AUDIENCE"
    }

    /// What kind of verdict it is.
    var code: Code
    /// One sentence for an operator, with its evidence.
    var text: String

    /// What a verdict is made of.
    struct Facts: Sendable {
        /// The registration, also an ended one.
        var registration: Registration
        /// Its app; `nil`: the project has it no more.
        var app: App?
        /// The project's policy for stale registrations.
        var stale = StalePolicy()
        /// What is paused of the upstreams.
        var pauses: [UpstreamPause] = []
        /// The delivery in question, or the last one that ended.
        var delivery: (message: MessageID, record: DeliveryRecord)?
        /// The message that is asked about.
        var message: DeliveryReport?
        /// The registration's subscription to the message's topic.
        var subscription: Subscription?
        /// The time now.
        var now: Timestamp
    }

    private init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }

    /// Judges: the first that applies of what ended the delivery, what keeps the registration from getting any, and what
    /// was sent to it last.
    init(_ facts: Facts) {
        if let message = facts.message {
            self = Self.delivery(facts) ?? Self.missing(message, facts)
        } else {
            self =
                Self.obstacle(facts) ?? Self.delivery(facts)
                ?? Self(.nothingSent, "Nothing was sent to it yet, and nothing stands in the way.")
        }
    }
}

extension RegistrationVerdict {
    /// What keeps broadcasts, or all messages, from the registration.
    private static func obstacle(_ facts: Facts) -> RegistrationVerdict? {
        let registration = facts.registration
        if let end = registration.end {
            guard registration.channel.isOfDevices else { return endedChannel(end) }
            return ended(end, registration.channel)
        }
        guard let app = facts.app else {
            return Self(
                .appUnknown, "The project has no app \(registration.app) any more: its project file names none.")
        }
        guard app.isServed else { return Self(.platformNotServed, unserved(app)) }
        if let quarantine = registration.quarantine {
            return Self(
                .quarantined,
                "It is quarantined since \(quarantine.time.rfc3339), because \(registration.channel.serviceName) refused "
                    + "its \(registration.channel.addressName) (\(quarantine.reason)): broadcasts pass it over until "
                    + "its app registers again.")
        }
        if let pause = pause(facts) { return Self(.routePaused, paused(pause, registration.channel)) }
        if facts.stale.action == .skip, facts.stale.shows(registration, at: facts.now) {
            return Self(
                .stale,
                "Broadcasts pass it over as stale: it was refreshed last on "
                    + "\(registration.refreshedAt.rfc3339), more than \(facts.stale.afterDays) days ago.")
        }
        return nil
    }

    /// What the project file lacks.
    private static func unserved(_ app: App) -> String {
        switch app.service {
        case .apple, .linksOnly: "The app \(app.id) is in the project file for links only: nothing is sent to it."
        case .android: "The app \(app.id) has no fcm in the project file: nothing is sent to its Android devices."
        case .web: "The app \(app.id) has no webPush in the project file: nothing is sent to its browsers."
        }
    }

    private static func endedChannel(_ end: RegistrationEnd) -> RegistrationVerdict {
        let time = end.time.rfc3339
        guard end.cause == .unregistered else { return Self(.endedDeleted, "The channel was deleted on \(time).") }
        return Self(
            .endedUnregistered,
            "The channel is lost since \(time): APNs has it no more. Make it anew; apps have to subscribe again.")
    }

    private static func ended(_ end: RegistrationEnd, _ channel: Channel) -> RegistrationVerdict {
        let time = end.time.rfc3339
        return switch end.cause {
        case .unregistered: Self(.endedUnregistered, unregistered(channel, time))
        case .deleted:
            Self(.endedDeleted, "It was deleted on \(time): by its app, or by an operator.")
        case .replaced:
            Self(
                .endedReplaced,
                "It was replaced on \(time): another registration has its device now, or its device has "
                    + "another user.")
        case .superseded:
            Self(
                .endedSuperseded,
                "It was superseded on \(time): another installation registered its \(channel.addressName).")
        }
    }

    /// By which answer the push service ended it, and what that may come from.
    private static func unregistered(_ channel: Channel, _ time: String) -> String {
        switch channel {
        case .apns, .broadcast:
            "It was ended by a 410 of APNs on \(time): the app is gone from the device, or has a new device token that "
                + "it did not register."
        case .fcm:
            "It was ended by an UNREGISTERED of Google on \(time): the app is gone from the device, or has a new token "
                + "that it did not register."
        case .webPush:
            "It was ended by a 404 or 410 of the browser's push service on \(time): the page's subscription is gone, or "
                + "it has a new one that it did not register."
        }
    }

    private static func pause(_ facts: Facts) -> UpstreamPause? {
        let registration = facts.registration
        let route = PushRoute(
            project: registration.project, app: registration.app, channel: registration.channel)
        return facts.pauses.first { pause in
            switch pause.part {
            case .everything: true
            case .topic(let topic): topic == registration.app.rawValue
            case .route(let paused): paused == route && registration.isProven
            case .suspects(let paused): paused == route && !registration.isProven
            }
        }
    }

    private static func paused(_ pause: UpstreamPause, _ channel: Channel) -> String {
        "Pushes of its app are paused since \(pause.since.rfc3339), because \(channel.serviceName) answered "
            + "\(pause.reason): the next try is on \(pause.nextProbe.rfc3339)."
    }

    /// How the delivery stands or ended.
    private static func delivery(_ facts: Facts) -> RegistrationVerdict? {
        guard let (message, record) = facts.delivery else { return nil }
        let time = record.endedAt?.rfc3339 ?? ""
        let channel = facts.registration.channel
        let reason = (record.reason ?? record.history.lastCause).map { " (\($0))" } ?? ""
        switch record.outcome {
        case .accepted: return Self(.accepted, "Message \(message) was accepted by \(channel.serviceName) on \(time).")
        case .rejected:
            return Self(.rejected, "Message \(message) was refused by \(channel.serviceName) on \(time)\(reason).")
        case .expired:
            return Self(
                .expired,
                "The time to live of message \(message) ran out on \(time), after "
                    + "\(record.history.attempts) attempts\(reason).")
        case .cancelled:
            return Self(.cancelled, "Message \(message) was cancelled before it was sent, which was booked on \(time).")
        case nil:
            if let pause = pause(facts) {
                return Self(.routePaused, "Message \(message) waits. " + paused(pause, channel))
            }
            return Self(
                .inFlight,
                "Message \(message) is in flight or waits for its next attempt: "
                    + "\(record.history.attempts) attempts so far\(reason).")
        }
    }

    /// Why a message has no delivery to the registration.
    private static func missing(_ report: DeliveryReport, _ facts: Facts) -> RegistrationVerdict {
        let (message, registration) = (report.message, facts.registration)
        let accepted = "message \(message.id) was accepted on \(message.acceptedAt.rfc3339)"
        if let end = registration.end, end.time <= message.acceptedAt {
            let ended = ended(end, registration.channel)
            return Self(ended.code, "Never claimed: \(accepted), later. " + ended.text)
        }
        if registration.createdAt > message.acceptedAt {
            return Self(
                .registeredLater,
                "Never claimed: \(accepted), before it registered on "
                    + "\(registration.createdAt.rfc3339).")
        }
        if let other = otherTarget(message, facts) { return other }
        if report.state == .paused { return Self(.messagePaused, "Not claimed yet: the message is paused.") }
        if let obstacle = obstacle(facts) { return Self(obstacle.code, "Never claimed. " + obstacle.text) }
        if report.state == .active {
            return Self(
                .notClaimedYet,
                "Not claimed yet, or in flight: the message is being delivered, "
                    + "\(report.recipients) of \(max(message.audience, report.recipients)) are claimed.")
        }
        return Self(.notInAudience, "Never claimed: when the message's recipients were read it was not among them.")
    }

    private static func otherTarget(_ message: MessageSummary, _ facts: Facts) -> RegistrationVerdict? {
        switch message.recipient {
        case .registration(let id) where id != facts.registration.id:
            return Self(.otherTarget, "Never claimed: the message was for another registration.")
        case .user(let user, _) where user != facts.registration.user:
            return Self(.otherTarget, "Never claimed: the message was for the user \(user), whose it is not now.")
        case .topic(let topic):
            guard let subscription = facts.subscription else {
                return Self(.notSubscribed, "Never claimed: it is not subscribed to the topic \(topic).")
            }
            guard subscription.createdAt > message.acceptedAt else { return nil }
            return Self(
                .subscribedLater,
                "Never claimed: it subscribed to the topic \(topic) on "
                    + "\(subscription.createdAt.rfc3339), after the message was accepted.")
        case .registration, .user, .condition, .list: return nil
        }
    }
}

extension Channel {
    /// Who answers, within a sentence.
    fileprivate var serviceName: String {
        switch self {
        case .apns, .broadcast: "APNs"
        case .fcm: "Google"
        case .webPush: "the browser's push service"
        }
    }

    /// What it knows a device by.
    fileprivate var addressName: String {
        switch self {
        case .apns: "device token"
        case .broadcast: "channel id"
        case .fcm: "token"
        case .webPush: "subscription"
        }
    }
}
