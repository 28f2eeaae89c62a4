package import PushModel
package import Store

extension MessageAcceptor {
    /// What a caller wants sent.
    package struct Submission: Sendable {
        /// The project.
        package var project: Project
        /// To whom.
        package var recipient: Recipient
        /// What.
        package var content: MessageContent
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

        /// To whom.
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
            project: Project, recipient: Recipient, content: MessageContent,
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

    /// A message that was taken.
    package struct Accepted: Sendable {
        /// Its id: of a repeated request, the id of the first one's message.
        package var id: MessageID
        /// The queue that its pushes wait in.
        package var lane: Lane
        /// The message; `nil`: the request came before, and nothing new is sent.
        package var message: Message?
        /// Whether the caller wanted to wait and can't: too many do, or the gateway stops.
        package var isWaitRefused = false

        /// Whether the request came before.
        package var isRepeat: Bool { message == nil }
    }

    /// Why a message was not accepted. Nothing was kept.
    package enum Refusal: Error, Sendable {
        /// The message breaks a rule.
        case invalid(InvalidMessage)
        /// The idempotency key came before with another body.
        case conflict
        /// Too much is waiting, by this limit; come back after `retryAfter`.
        case full(WaitingLimit, retryAfter: Duration)
        /// The gateway is stopping.
        case stopping
        /// The store failed.
        case store(StoreError)
    }

    /// The limits of what may wait.
    package enum WaitingLimit: String, Hashable, Sendable, CaseIterable {
        /// ``DeliveryLimits/messagesWaiting``.
        case messages
        /// ``DeliveryLimits/bytesWaiting``.
        case bytes
        /// ``DeliveryLimits/projectMessagesWaiting``.
        case projectMessages
        /// ``DeliveryLimits/projectBytesWaiting``.
        case projectBytes
    }

    /// What would become of a submission: the answer to `validate_only`.
    package struct Preflight: Sendable {
        /// An id of the usual form that names no message.
        package var id: MessageID
        /// The active registrations that it would reach now.
        package var audience: Int
        /// The size of the finished payload of each app that it can be built for.
        package var payloadBytes: [AppID: Int]
        /// How long its fan-out would take: by the message's pace, otherwise by the pace of the last pushes; `nil`:
        /// nothing was sent lately.
        package var expectedDuration: Duration?
        /// Why it would be refused; empty: it would be accepted.
        package var refusals: [Refusal]
    }
}
