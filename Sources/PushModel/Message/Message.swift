/// An accepted message: what one request asked for, and what the gateway decided about it at accept.
package struct Message: Sendable {
    /// Its id, the last segment of `projects/{p}/messages/{id}`.
    package let id: MessageID
    /// The project that sent it.
    package let project: ProjectID
    /// To whom.
    package let recipient: Recipient
    /// What it says.
    package let body: MessageBody
    /// How it is to be delivered.
    package let options: DeliveryOptions
    /// The queue its pushes wait in, decided at accept.
    package let lane: Lane
    /// When it was accepted.
    package let acceptedAt: Timestamp
    /// After this no attempt is started; deliveries still open then end as `expired`.
    package let expiresAt: Timestamp

    /// The target, resolved at accept. `audience` is the estimate of accept; exact for lists and users.
    package enum Recipient: Hashable, Sendable {
        /// One registration.
        case registration(RegistrationKey, RegistrationID)
        /// Everyone who subscribed to the topic by the time of accept.
        case topic(Topic, audience: Int)
        /// Everyone for whom the condition held by the time of accept.
        case condition(Condition, audience: Int)
        /// The registrations that a multicast named.
        case list(audience: Int)
        /// The active registrations that a user had at accept.
        case user(UserID, audience: Int)

        /// How many registrations were meant at accept.
        package var audience: Int {
            switch self {
            case .registration: 1
            case .topic(_, let audience), .condition(_, let audience), .list(let audience), .user(_, let audience):
                audience
            }
        }
    }

    /// Puts a message together.
    package init(
        id: MessageID, project: ProjectID, recipient: Recipient, body: MessageBody, options: DeliveryOptions,
        lane: Lane, acceptedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.project = project
        self.recipient = recipient
        self.body = body
        self.options = options
        self.lane = lane
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
    }

    /// The topic it goes to, if it goes to one.
    package var topic: Topic? {
        guard case .topic(let topic, _) = recipient else { return nil }
        return topic
    }
}
