public import PushModel

/// A message on its way into the store.
public struct NewMessage: Sendable {
    /// Its id.
    public var id: MessageID
    /// The project.
    public var project: ProjectID
    /// To whom; the audience of a topic is counted by the store.
    public var recipient: Recipient
    /// What was asked.
    public var content: MessageContent
    /// What reports and exports show of it.
    public var facts: MessageFacts
    /// When it was accepted.
    public var acceptedAt: Timestamp
    /// When deliveries still open end as expired.
    public var expiresAt: Timestamp

    /// To whom.
    public enum Recipient: Sendable {
        /// One registration.
        case registration(RegistrationKey, RegistrationID)
        /// A topic.
        case topic(Topic)
    }

    /// Puts a message together.
    public init(
        id: MessageID, project: ProjectID, recipient: Recipient, content: MessageContent, facts: MessageFacts,
        acceptedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.project = project
        self.recipient = recipient
        self.content = content
        self.facts = facts
        self.acceptedAt = acceptedAt
        self.expiresAt = expiresAt
    }
}

/// What reports and exports show of a message beside its target: decided once, at accept.
public struct MessageFacts: Hashable, Sendable {
    /// The sender's label.
    public var label: AnalyticsLabel?
    /// Whether a device shows something (DISPLAY_NOTIFICATION) or only wakes (DATA_MESSAGE).
    public var isDisplayed: Bool
    /// `apns-collapse-id`.
    public var collapseKey: String?
    /// `apns-priority`.
    public var priority: Int
    /// Seconds from accept to expiry, as sent.
    public var timeToLiveSeconds: Int64

    /// Puts the facts together.
    public init(
        label: AnalyticsLabel?, isDisplayed: Bool, collapseKey: String?, priority: Int, timeToLiveSeconds: Int64
    ) {
        self.label = label
        self.isDisplayed = isDisplayed
        self.collapseKey = collapseKey
        self.priority = priority
        self.timeToLiveSeconds = timeToLiveSeconds
    }
}

/// Accepted messages.
public protocol MessageStore: Sendable {
    /// Commits a message with its fan-out, or with its single delivery. When this returns, the message survives a
    /// power cut. Messages accepted at the same time share one commit.
    func accept(_ message: NewMessage) async throws(StoreError) -> Message

    /// One message.
    func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message?

    /// Messages that are not complete, as of the last commit of this process. Free: the accept limit asks for each
    /// request.
    var activeMessages: Int { get }
}
