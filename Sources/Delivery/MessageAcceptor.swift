public import PushModel
public import Store

/// Takes messages in: checks the finished bytes, commits, wakes the workers.
public final class MessageAcceptor: Sendable {
    /// What a caller wants sent.
    public struct Submission: Sendable {
        /// The project.
        public var project: Project
        /// To whom.
        public var recipient: Recipient
        /// What.
        public var content: MessageContent

        /// To whom.
        public enum Recipient: Sendable {
            /// One active registration.
            case registration(Registration)
            /// A topic.
            case topic(Topic)
        }

        /// Puts a submission together.
        public init(project: Project, recipient: Recipient, content: MessageContent) {
            self.project = project
            self.recipient = recipient
            self.content = content
        }
    }

    /// Why a message was not accepted. Nothing was kept.
    public enum Refusal: Error, Sendable {
        /// The message breaks a rule.
        case invalid(InvalidMessage)
        /// Too much is queued; come back after this.
        case full(retryAfter: Duration)
        /// The gateway is stopping.
        case stopping
        /// The store failed.
        case store(StoreError)
    }

    /// Prepares an acceptor.
    ///
    /// - Parameters:
    ///   - wake: called after each commit.
    ///   - activeMessageLimit: messages not complete beyond which new ones are refused.
    public init(
        store: any MessageStore, limits: DeliveryLimits, wallTime: @escaping WallTime,
        wake: @escaping @Sendable (Lane) -> Void
    ) {
        fatalError("pending")
    }

    /// Checks a submission as ``accept(_:)`` would and keeps nothing (`validate_only`).
    ///
    /// - Returns: an id of the usual form that names no message.
    public func check(_ submission: Submission) throws(Refusal) -> MessageID {
        fatalError("pending")
    }

    /// Accepts a message: when this returns, it is committed.
    public func accept(_ submission: Submission) async throws(Refusal) -> Message {
        fatalError("pending")
    }

    /// Refuses everything from now on.
    public func stop() {
        fatalError("pending")
    }
}
