package import PushModel
package import Store

/// A message that was accepted.
package struct AcceptedMessage: Sendable {
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
package enum SubmissionRefusal: Error, Sendable {
    /// The message breaks a rule.
    case invalid(InvalidMessage)
    /// The idempotency key came before with another body.
    case conflict
    /// Too much is waiting, by this limit; come back after `retryAfter`.
    case full(WaitingLimit, retryAfter: Duration)
    /// The disk is nearly full; come back after `retryAfter`.
    case diskLow(retryAfter: Duration)
    /// The gateway is stopping.
    case stopping
    /// The store failed.
    case store(StoreError)
}

/// Makes the registration of an address that its push service has just taken a message for, at a time.
package struct RegistrationAdoption: Sendable {
    /// Gives the registration as the store has it then.
    let make: @Sendable (Timestamp) async throws(StoreError) -> Registration

    /// Makes it by `make`.
    package init(_ make: @escaping @Sendable (Timestamp) async throws(StoreError) -> Registration) {
        self.make = make
    }
}

/// What would become of a submission: the answer to `validate_only`.
package struct Preflight: Sendable {
    /// An id of the usual form that names no message.
    package var id: MessageID
    /// The active registrations that it would reach now; of an estimate the most that it can reach.
    package var audience: Int
    /// The size of the finished payload of each app that it can be built for.
    package var payloadBytes: [AppKey: Int]
    /// How long its fan-out would take: by the message's pace, otherwise by the pace of the last pushes; `nil`:
    /// nothing was sent lately.
    package var expectedDuration: Duration?
    /// Why it would be refused; empty: it would be accepted.
    package var refusals: [SubmissionRefusal]
}

extension SubmissionRefusal {
    /// The value of the metric label `reason`.
    var label: String {
        switch self {
        case .invalid: "invalid"
        case .conflict: "conflict"
        case .full: "full"
        case .store(let error) where error.isFull: "full"
        case .stopping: "stopping"
        case .diskLow: "disk"
        case .store: "store"
        }
    }
}
