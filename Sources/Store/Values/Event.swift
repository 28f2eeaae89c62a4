package import PushModel

/// The place of an event in the order of commit. The first event of a store is 1, and each has the number after that of
/// the one before: who has read up to a number has missed nothing.
package struct EventNumber: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number; 0 stands before all events.
    package let rawValue: Int64

    /// Takes a number.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Before all events.
    package static let zero = EventNumber(rawValue: 0)

    /// By their order.
    package static func < (left: EventNumber, right: EventNumber) -> Bool { left.rawValue < right.rawValue }
}

/// Something that happened in a project.
package struct Event: Sendable {
    /// Its place.
    package var number: EventNumber
    /// The project.
    package var project: ProjectID
    /// When it happened. Of two events the later number may have the earlier time: answers are recorded in batches.
    package var time: Timestamp
    /// What happened.
    package var kind: Kind

    /// What happened.
    package enum Kind: Sendable {
        /// Where a message stands changed.
        case message(MessageID, MessageChange)
        /// A delivery ended.
        case delivery(DeliveryEvent)
        /// A device reported something of a delivery.
        case receipt(ReceiptEvent)
        /// A registration ended.
        case registrationEnded(EndedRegistration)
        /// Nothing is taken for a route for a while, or it goes on.
        case route(RouteNotice)
        /// An endpoint of webhooks fails for long, or is disabled.
        case webhook(WebhookNotice)
        /// Somebody tapped a link.
        case click(ClickEvent)
        /// An invitation was made, or somebody who followed it came further.
        case referral(ReferralStep)
        /// So many deliveries ended of which the ledger holds nothing any more; the number is that of the last one.
        case forgotten(deliveries: Int)
    }

    /// Puts an event together.
    package init(number: EventNumber, project: ProjectID, time: Timestamp, kind: Kind) {
        self.number = number
        self.project = project
        self.time = time
        self.kind = kind
    }
}

/// A change of where a message stands.
package enum MessageChange: String, Hashable, Sendable, CaseIterable {
    /// It was accepted and is active.
    case accepted
    /// An operator holds it.
    case paused
    /// It is active again.
    case resumed
    /// It was cancelled; deliveries of it may still be open.
    case cancelled
    /// More of its deliveries ended.
    case progress
    /// Its last delivery ended, also when it was cancelled.
    case complete
}

/// How a delivery ended, with what lists of many messages show of its message.
package struct DeliveryEvent: Sendable {
    /// The message.
    package var message: MessageID
    /// Its topic.
    package var topic: Topic?
    /// Its label.
    package var label: AnalyticsLabel?
    /// The delivery, without receipts.
    package var delivery: DeliveryRecord

    /// Puts an event together.
    package init(message: MessageID, topic: Topic?, label: AnalyticsLabel?, delivery: DeliveryRecord) {
        self.message = message
        self.topic = topic
        self.label = label
        self.delivery = delivery
    }
}

/// What a device reported of a delivery.
package struct ReceiptEvent: Hashable, Sendable {
    /// The message.
    package var message: MessageID
    /// Its topic.
    package var topic: Topic?
    /// Its label.
    package var label: AnalyticsLabel?
    /// The registration's FID.
    package var registration: RegistrationID
    /// Its app.
    package var app: AppKey
    /// What.
    package var kind: ReceiptKind

    /// Puts an event together.
    package init(
        message: MessageID, topic: Topic?, label: AnalyticsLabel?, registration: RegistrationID, app: AppKey,
        kind: ReceiptKind
    ) {
        self.message = message
        self.topic = topic
        self.label = label
        self.registration = registration
        self.app = app
        self.kind = kind
    }
}

/// A tap on a link that led to a store or a preview page.
package struct ClickEvent: Hashable, Sendable {
    /// The app that the link is for.
    package var app: AppKey
    /// The short link, as `prefix/suffix` names it; `nil`: it is none, or is not known any more.
    package var link: String?
    /// The invitation that the link is.
    package var invitation: InvitationID?

    /// Puts an event together.
    package init(app: AppKey, link: String? = nil, invitation: InvitationID? = nil) {
        self.app = app
        self.link = link
        self.invitation = invitation
    }
}

/// The end of a registration.
package struct EndedRegistration: Hashable, Sendable {
    /// Its FID.
    package var registration: RegistrationID
    /// Its app.
    package var app: AppKey
    /// Why it ended.
    package var cause: RegistrationEnd.Cause
    /// The registration that took its place, if that is known.
    package var replacement: RegistrationID?

    /// Puts an end together.
    package init(
        registration: RegistrationID, app: AppKey, cause: RegistrationEnd.Cause, replacement: RegistrationID? = nil
    ) {
        self.registration = registration
        self.app = app
        self.cause = cause
        self.replacement = replacement
    }
}

/// A route is held, or is not any more.
package struct RouteNotice: Hashable, Sendable {
    /// The route.
    package var route: PushRoute
    /// Whether it is held from now on.
    package var isPaused: Bool
    /// Whether it is, or was, held because its credential is refused.
    package var isOfCredential: Bool

    /// Puts a notice together.
    package init(_ route: PushRoute, isPaused: Bool, isOfCredential: Bool = false) {
        self.route = route
        self.isPaused = isPaused
        self.isOfCredential = isOfCredential
    }
}

/// Which events are read.
package struct EventFilter: Hashable, Sendable {
    /// Of this project; `nil`: of all.
    package var project: ProjectID?
    /// Only deliveries that were not accepted, registrations that ended and routes that were paused or resumed.
    package var isOnlyFailures: Bool
    /// Only these; `nil`: all. What is lost of deliveries is among them when any deliveries are.
    package var types: Set<EventType>?

    /// Puts a filter together.
    package init(project: ProjectID? = nil, isOnlyFailures: Bool = false, types: Set<EventType>? = nil) {
        self.project = project
        self.isOnlyFailures = isOnlyFailures
        self.types = types
    }

    /// Whether events of a type are read.
    package func keeps(_ type: EventType) -> Bool {
        guard let types else { return true }
        if type == .deliveryGap, types.contains(where: \.isOfDevice) { return true }
        return types.contains(type)
    }
}

/// Events in their order.
package struct EventPage: Sendable {
    /// The events that the filter keeps.
    package var events: [Event]
    /// The number up to which everything was looked at: reading goes on after it, also when there were no events.
    package var last: EventNumber
    /// Whether nothing was committed after ``last`` when the page was read.
    package var isAtEnd: Bool
    /// The newest number that retention took away: of the events up to it nothing can be read. A page after an older
    /// number lacks them.
    package var forgotten: EventNumber
    /// The newest number of all.
    package var newest: EventNumber

    /// Puts a page together.
    package init(
        events: [Event], last: EventNumber, isAtEnd: Bool, forgotten: EventNumber, newest: EventNumber
    ) {
        self.events = events
        self.last = last
        self.isAtEnd = isAtEnd
        self.forgotten = forgotten
        self.newest = newest
    }
}
