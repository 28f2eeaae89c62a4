package import PushModel

/// One request to an endpoint and what came of it.
package struct WebhookAttempt: Hashable, Sendable {
    /// The most bytes of an answer that are kept.
    package static let answerLimitBytes = 1024

    /// `webhook-id`: the same for each attempt of a delivery.
    package var delivery: String
    /// The type of its event, or `delivery.batch`.
    package var type: String
    /// The first and the last event in it.
    package var first: EventNumber
    package var last: EventNumber
    /// How many events.
    package var events: Int
    /// When it began.
    package var time: Timestamp
    /// How long it took.
    package var latency: Duration
    /// The status; `nil`: there was no answer.
    package var status: Int?
    /// Why it failed, a word of few; `nil`: it was taken.
    package var failure: String?
    /// More of it, in words.
    package var detail: String?
    /// The beginning of the answer.
    package var answer: String?

    /// Puts an attempt together.
    package init(
        delivery: String, type: String, first: EventNumber, last: EventNumber, events: Int, time: Timestamp,
        latency: Duration, status: Int?, failure: String?, detail: String?, answer: String?
    ) {
        self.delivery = delivery
        self.type = type
        self.first = first
        self.last = last
        self.events = events
        self.time = time
        self.latency = latency
        self.status = status
        self.failure = failure
        self.detail = detail
        self.answer = answer
    }
}

/// An event that an endpoint did not take within its schedule.
package struct WebhookDeadLetter: Hashable, Sendable {
    /// `webhook-id`.
    package var delivery: String
    /// Its type.
    package var type: String
    /// The event.
    package var event: EventNumber
    /// When it was given up.
    package var time: Timestamp
    /// Why the last attempt failed.
    package var failure: String
    /// What was to be sent.
    package var body: [UInt8]

    /// Puts a dead letter together.
    package init(
        delivery: String, type: String, event: EventNumber, time: Timestamp, failure: String, body: [UInt8]
    ) {
        self.delivery = delivery
        self.type = type
        self.event = event
        self.time = time
        self.failure = failure
        self.body = body
    }
}

/// What an endpoint's sender writes down in one step.
package struct WebhookProgress: Hashable, Sendable {
    /// The revision that it worked with.
    package var revision: Int64
    /// How far the endpoint is now.
    package var position: WebhookPosition
    /// The attempt that it made.
    package var attempt: WebhookAttempt?
    /// The event that it gives up.
    package var deadLetter: WebhookDeadLetter?
    /// The dead letter that was taken after all.
    package var revived: EventNumber?
    /// What others are told; a notice that it is disabled also does that.
    package var notice: WebhookNotice?

    /// Puts a step together.
    package init(revision: Int64, position: WebhookPosition) {
        self.revision = revision
        self.position = position
    }
}

/// What its owner changes of an endpoint; `nil`: as it is.
package struct WebhookChange: Hashable, Sendable {
    /// Its settings.
    package var settings: WebhookSettings?
    /// Its state. Enabling it forgets that it failed.
    package var state: WebhookState?
    /// Its secrets.
    package var secrets: [WebhookSecret]?
    /// What is to be sent once more.
    package var replay: WebhookReplay?

    /// Changes nothing.
    package init() {}
}
