package import PushModel
package import Store

/// A message that a caller wants sent.
package struct Submission: Sendable {
    /// The project.
    package var project: Project
    /// To whom.
    package var recipient: Recipient
    /// What it says.
    package var content: any MessageContent
    /// How it is to be delivered.
    package var options: DeliveryOptions
    /// What makes a repeat of the request the same one; `nil`: every request is a new one.
    package var idempotency: IdempotencyKey?
    /// Who sends it.
    package var credential: CredentialUse
    /// Whether the caller waits for the end of the one delivery. It goes in the interactive lane then, and to the
    /// upstream also while its route is held: so the upstream says why.
    var isAwaited = false
    /// Whether the message's id is to be a number (``MessageID/init(number:)``).
    package var isNumbered = false

    /// The recipients of a submission.
    package enum Recipient: Sendable {
        /// One active registration.
        case registration(Registration)
        /// A topic.
        case topic(Topic)
        /// A condition over topics.
        case condition(Condition)
        /// A multicast: active registrations in any order, repeats count once; 1 to ``NewMessage/listLimit``.
        case list([Addressee])
        /// The active registrations of a user, as ``list(_:)``.
        case user(UserID, [Addressee])
    }

    /// Puts a submission together.
    package init(
        project: Project, recipient: Recipient, content: any MessageContent,
        options: DeliveryOptions = DeliveryOptions(), idempotency: IdempotencyKey? = nil, credential: CredentialUse
    ) {
        self.credential = credential
        self.project = project
        self.recipient = recipient
        self.content = content
        self.options = options
        self.idempotency = idempotency
    }

    /// An id for it, accepted at `time`.
    func newID(at time: Timestamp, random: UInt64) -> MessageID {
        isNumbered ? MessageID(number: random) : MessageID(acceptedAt: time, random: random)
    }
}

/// One of many registrations that a message names.
package struct Addressee: Hashable, Sendable {
    /// Its number in the store.
    package var key: RegistrationKey
    /// Its app.
    package var app: AppID

    /// Names a registration.
    package init(key: RegistrationKey, app: AppID) {
        self.key = key
        self.app = app
    }
}
