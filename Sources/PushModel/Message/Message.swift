/// An accepted message: what one request asked for, and what the gateway decided about it at accept.
package struct Message: Sendable {
    /// Its id, the last segment of `projects/{p}/messages/{id}`.
    package let id: MessageID
    /// The project that sent it.
    package let project: ProjectID
    /// To whom; of named registrations how many.
    package let recipient: Recipient<RegistrationID, Int>
    /// How many registrations were meant at accept: an estimate for a topic or a condition.
    package let audience: Int
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

    /// Puts a message together.
    package init(
        id: MessageID, project: ProjectID, recipient: Recipient<RegistrationID, Int>, audience: Int, body: MessageBody,
        options: DeliveryOptions, lane: Lane, acceptedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.project = project
        self.recipient = recipient
        self.audience = audience
        self.body = body
        self.options = options
        self.lane = lane
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
    }

    /// The topic it goes to, if it goes to one.
    package var topic: Topic? {
        guard case .topic(let topic) = recipient else { return nil }
        return topic
    }
}
