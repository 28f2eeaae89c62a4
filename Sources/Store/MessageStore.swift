package import PushModel

/// A message on its way into the store.
package struct NewMessage: Sendable {
    /// Its id.
    package var id: MessageID
    /// The project.
    package var project: ProjectID
    /// To whom; the audience of a topic or condition is counted by the store.
    package var recipient: Recipient
    /// What was asked.
    package var content: MessageContent
    /// How it is to be delivered.
    package var options: DeliveryOptions
    /// The queue its pushes wait in.
    package var lane: Lane
    /// What reports and exports show of it.
    package var facts: MessageFacts
    /// When it was accepted.
    package var acceptedAt: Timestamp
    /// When deliveries still open end as expired.
    package var expiresAt: Timestamp
    /// What makes a repeated request the same one; `nil`: every request is a new one.
    package var idempotency: IdempotencyKey?
    /// Fan-outs pass registrations by that were last refreshed before this time; `nil`: none. What names registrations
    /// one by one (a hundred at most) reaches them all.
    package var skipsStaleBefore: Timestamp?

    /// To whom.
    package enum Recipient: Sendable {
        /// One registration.
        case registration(RegistrationKey, RegistrationID)
        /// A topic.
        case topic(Topic)
        /// A condition over topics.
        case condition(Condition)
        /// Many registrations of the project, each once, in ascending order, at most ``NewMessage/listLimit``.
        case list([RegistrationKey])
        /// The registrations of a user, as ``list(_:)``.
        case user(UserID, [RegistrationKey])
    }

    /// The most registrations of one message that names them.
    package static let listLimit = 100_000
    /// Up to so many registrations of a list become single deliveries of their own; more become a fan-out.
    package static let smallListLimit = 100

    /// Puts a message together.
    package init(
        id: MessageID, project: ProjectID, recipient: Recipient, content: MessageContent,
        options: DeliveryOptions = DeliveryOptions(), lane: Lane, facts: MessageFacts, acceptedAt: Timestamp,
        expiresAt: Timestamp, idempotency: IdempotencyKey? = nil, skipsStaleBefore: Timestamp? = nil
    ) {
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

/// What makes a repeated request the same one: the sender's `Idempotency-Key`, and a digest of the body that came with
/// it. Kept for ``lifetime``.
package struct IdempotencyKey: Hashable, Sendable {
    /// How long a key is remembered.
    package static let lifetime: Duration = .seconds(86_400)

    /// The key as sent (of an item of a batch: with its place appended), 1 to 300 bytes.
    package var key: String
    /// SHA-256 of the request's body, 32 bytes.
    package var digest: [UInt8]
    /// Of an item of a batch: the key of the whole batch, which is used up with its first item.
    package var batch: String?

    /// Puts a key together.
    package init(key: String, digest: [UInt8], batch: String? = nil) {
        self.key = key
        self.digest = digest
        self.batch = batch
    }

    /// The key of the whole batch; `nil`: it is no item of one.
    package var ofBatch: IdempotencyKey? { batch.map { IdempotencyKey(key: $0, digest: digest) } }
}

/// What is known of an idempotency key.
package enum IdempotencyUse: Hashable, Sendable {
    /// It did not come within ``IdempotencyKey/lifetime``.
    case unused
    /// It came with the same body, which made this message.
    case same(MessageID)
    /// It came with another body.
    case other
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

/// What is accepted and not complete: held against the limits of accept.
package struct StoreLoad: Hashable, Sendable {
    /// Messages and the bytes of their content.
    package struct Sum: Hashable, Sendable {
        /// Messages that are not complete.
        package var messages: Int
        /// Bytes of their content, as stored, and of their lists of recipients.
        package var bytes: Int

        /// Puts a sum together.
        package init(messages: Int = 0, bytes: Int = 0) {
            self.messages = messages
            self.bytes = bytes
        }
    }

    /// Of all projects.
    package var total: Sum
    /// By project; who has none is left out.
    package var byProject: [ProjectID: Sum]

    /// Puts a load together.
    package init(total: Sum = Sum(), byProject: [ProjectID: Sum] = [:]) {
        self.total = total
        self.byProject = byProject
    }
}

/// What an operator does to a message.
package enum MessageControl: String, Hashable, Sendable, CaseIterable {
    /// Nothing of it is claimed until it is resumed.
    case pause
    /// Ends a pause.
    case resume
    /// Nothing of it is claimed any more; what was not claimed ends as cancelled.
    case cancel
}

/// What reports and exports show of a message beside its target: decided once, at accept.
package struct MessageFacts: Hashable, Sendable {
    /// The sender's label.
    package var label: AnalyticsLabel?
    /// Whether a device shows something (DISPLAY_NOTIFICATION) or only wakes (DATA_MESSAGE).
    package var isDisplayed: Bool
    /// `apns-collapse-id`.
    package var collapseKey: String?
    /// `apns-priority`.
    package var priority: Int
    /// Seconds from accept to expiry, as sent.
    package var timeToLiveSeconds: Int64
    /// The credential that sent it; `nil`: it was accepted before that was kept.
    package var credential: CredentialUse?

    /// Puts the facts together.
    package init(
        label: AnalyticsLabel?, isDisplayed: Bool, collapseKey: String?, priority: Int, timeToLiveSeconds: Int64,
        credential: CredentialUse? = nil
    ) {
        self.credential = credential
        self.label = label
        self.isDisplayed = isDisplayed
        self.collapseKey = collapseKey
        self.priority = priority
        self.timeToLiveSeconds = timeToLiveSeconds
    }
}

/// Accepted messages.
package protocol MessageStore: Sendable {
    /// Commits messages with their work in one transaction; the results are in the same order. A message that is not taken
    /// says so in its result and leaves the others alone; when this throws, none was taken. When this returns, they
    /// survive a power cut. Calls at the same time share one commit.
    ///
    /// - Parameter worker: who sends single deliveries of the interactive lane right away: they are committed as
    ///   claimed by it and come back with the result. `nil`, or a worker whose lease ended: none is claimed.
    func accept(_ messages: [NewMessage], claimedBy worker: WorkerID?) async throws(StoreError) -> [AcceptResult]

    /// What is known of idempotency keys at `time`, in their order, in one read. ``accept(_:claimedBy:)`` looks again:
    /// this is for those who answer a repeat before they look at anything else.
    func uses(
        of keys: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse]

    /// One message.
    func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message?

    /// What is not complete, as of the last commit of this process. Free: the accept limits ask for each request.
    var load: StoreLoad { get }

    /// How many active registrations a message to `recipient` would reach now (preflight), in time that grows with the
    /// audience. Exact as long as nobody comes or goes meanwhile: a large audience is counted in several snapshots.
    func audience(of recipient: NewMessage.Recipient, in project: ProjectID) async throws(StoreError) -> Int

    /// Pauses, resumes or cancels a message. What changes nothing (pausing a paused message) is no error. What changes
    /// the state leaves an audit entry of `credential`.
    ///
    /// - Returns: the state afterwards: a complete message stays complete; `nil`: there is no such message.
    func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState?

    /// Forgets idempotency keys that were used before `time`, at most `limit`.
    ///
    /// - Returns: how many were forgotten.
    func forgetIdempotencyKeys(before time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
