/// What is known of a message that came in.
public struct MessagingMessageInfo: Hashable, Sendable {
    /// Whether it is new.
    public let status: MessagingMessageStatus
}

/// Whether a message is new.
public enum MessagingMessageStatus: Int, Hashable, Sendable {
    /// It has no id, or came before.
    case unknown
    /// It came for the first time.
    case new
}

/// What waits for the gateway.
public struct MessagingQueue: Hashable, Sendable {
    /// Topics to join or to leave; up to 1000 wait, and a further one is refused.
    public let topicChanges: Int
    /// Receipts; up to 1000 wait, and for a further one the oldest goes.
    public let receipts: Int
    /// How many receipts went for others.
    public let droppedReceipts: Int
}
