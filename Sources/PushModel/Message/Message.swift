/// An accepted message: what one request asked for, and what the gateway decided about it at accept.
public struct Message: Sendable {
    /// Its id, the last segment of `projects/{p}/messages/{id}`.
    public let id: MessageID
    /// The project that sent it.
    public let project: ProjectID
    /// To whom.
    public let recipient: Recipient
    /// What was asked, decoded.
    public let content: MessageContent
    /// When it was accepted.
    public let acceptedAt: Timestamp
    /// After this no attempt is started; deliveries still open then end as `expired`.
    public let expiresAt: Timestamp

    /// The target, resolved at accept.
    public enum Recipient: Hashable, Sendable {
        /// One registration.
        case registration(RegistrationKey, RegistrationID)
        /// Everyone who subscribed to the topic by the time of accept, `audience` of them.
        case topic(Topic, audience: Int)
    }

    /// Puts a message together.
    public init(
        id: MessageID, project: ProjectID, recipient: Recipient, content: MessageContent, acceptedAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.project = project
        self.recipient = recipient
        self.content = content
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
    }

    /// The queue its pushes wait in.
    public var lane: Lane {
        switch recipient {
        case .registration: .interactive
        case .topic: .bulk
        }
    }

    /// The topic it goes to, if it goes to one.
    public var topic: Topic? {
        switch recipient {
        case .registration: nil
        case .topic(let topic, _): topic
        }
    }
}
