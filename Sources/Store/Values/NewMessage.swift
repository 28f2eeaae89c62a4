package import PushModel

/// A message on its way into the store.
package struct NewMessage: Sendable {
    /// Its id.
    package var id: MessageID
    /// The project.
    package var project: ProjectID
    /// To whom; the audience of a topic or condition is counted by the store. Named registrations are active ones of the
    /// project, each once, in ascending order, at most ``listLimit``.
    package var recipient: Recipient<RegistrationKey, [RegistrationKey]>
    /// The FID of the one registration that the recipient names: if that number is another's by now, as after a failover
    /// that lost what a server had committed, the message goes to no one. `nil`: the one that has the number.
    package var registration: RegistrationID?
    /// What was asked.
    package var content: any MessageContent
    /// How it is to be delivered.
    package var options: DeliveryOptions
    /// The queue its pushes wait in.
    package var lane: Lane
    /// What reports and exports show of it.
    package var facts: MessageFacts
    /// The same of each platform, where it differs between those that the message may reach; empty: it does not, or the
    /// message is to one registration.
    package var platforms: [Platform: PlatformFacts] = [:]
    /// When it was accepted.
    package var acceptedAt: Timestamp
    /// When deliveries still open end as expired.
    package var expiresAt: Timestamp
    /// What makes a repeated request the same one; `nil`: every request is a new one.
    package var idempotency: IdempotencyKey?
    /// Fan-outs pass registrations by that were last refreshed before this time; `nil`: none. What names registrations
    /// one by one (a hundred at most) reaches them all.
    package var skipsStaleBefore: Timestamp?
    /// The links that it says, made in the same transaction, each with the first of its suffixes; a message that is not
    /// taken makes none.
    package var links: [NewLink]
    /// Whether its single deliveries are claimed with the commit by the worker that commits it: those of the interactive lane,
    /// unless a sender says otherwise.
    package var isSentAtOnce: Bool {
        get { choice ?? (lane == .interactive) }
        set { choice = newValue }
    }
    /// What a sender said of ``isSentAtOnce``.
    private var choice: Bool?

    /// The most registrations of one message that names them.
    package static let listLimit = 100_000
    /// Up to so many registrations of a list become single deliveries of their own; more become a fan-out.
    package static let smallListLimit = 100

    /// Puts a message together.
    package init(
        id: MessageID, project: ProjectID, recipient: Recipient<RegistrationKey, [RegistrationKey]>,
        content: any MessageContent, options: DeliveryOptions = DeliveryOptions(), lane: Lane, facts: MessageFacts,
        acceptedAt: Timestamp,
        expiresAt: Timestamp, idempotency: IdempotencyKey? = nil, skipsStaleBefore: Timestamp? = nil,
        links: [NewLink] = []
    ) {
        self.links = links
        self.id = id
        self.project = project
        self.recipient = recipient
        self.content = content
        self.options = options
        self.lane = lane
        self.facts = facts
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
        self.idempotency = idempotency
        self.skipsStaleBefore = skipsStaleBefore
    }
}

/// What became of one message that was to be accepted.
package enum AcceptResult: Sendable {
    /// It is committed. `claims`: the deliveries that were claimed in the same step, to be sent now.
    case accepted(Message, claims: [ClaimedDelivery])
    /// The same key and body came before: nothing new is sent.
    case repeated(MessageID)
    /// The same key came before with another body.
    case conflict
    /// The one registration it was for is not in the store any more: nothing is sent.
    case noRegistration
}
