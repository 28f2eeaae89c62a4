package import PushModel
package import Store
package import Traces

/// A message that a caller wants sent.
package struct Submission: Sendable {
    /// The project.
    package var project: Project
    /// To whom: active registrations, of many in any order, where repeats count once; at most ``NewMessage/listLimit``.
    package var recipient: Recipient<Registration, [Addressee]>
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
    /// Whether it came with more than ``NewMessage/smallListLimit`` others in one request: it goes in the bulk lane, so that
    /// a batch keeps no single message waiting.
    package var isOfLargeBatch = false
    /// Whether the push service is only to check the message, see ``MessageAcceptor/ask(_:)``.
    var isDryRun = false
    /// The links that ``content`` says and that are made with it: none of them is there when it is refused.
    package var links: [NewLink] = []
    /// Whether the message's id is to be a number (``MessageID/init(number:)``).
    package var isNumbered = false
    /// The request that it came with; `nil`: nothing is traced, or no request has it sent.
    package var origin: RequestTrace?

    /// Puts a submission together.
    package init(
        project: Project, recipient: Recipient<Registration, [Addressee]>, content: any MessageContent,
        options: DeliveryOptions = DeliveryOptions(), idempotency: IdempotencyKey? = nil, credential: CredentialUse,
        origin: RequestTrace? = nil
    ) {
        self.origin = origin
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
    package var app: AppKey

    /// Names a registration.
    package init(key: RegistrationKey, app: AppKey) {
        self.key = key
        self.app = app
    }
}
