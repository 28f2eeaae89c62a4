import PushModel
import Store

/// A claimed delivery with what its settlement needs to know of its message.
struct OpenDelivery: Sendable {
    /// The claim.
    let claim: ClaimedDelivery
    /// The lane that claimed it.
    let lane: Lane
    /// Whether APNs gets one attempt only (`apns-expiration: 0`).
    let isOnce: Bool
    /// Whether it goes to the token of a Live Activity: a 410 then says nothing about the install.
    let isForActivity: Bool
    /// The `apns-id` of each of its attempts.
    let apnsID: APNSID

    /// When the message was accepted.
    var acceptedAt: Timestamp { claim.acceptedAt }
    /// After this no attempt is started.
    var expiresAt: Timestamp { claim.expiresAt }
}

extension OpenDelivery {
    /// What the answer to an attempt means for the delivery.
    ///
    /// `attempts` counts what was handed to the upstream and answered, `notSent` included: the back-off of an outage
    /// grows by it. What is decided without the upstream (``setBack(by:at:random:)`` before a hand-over, ``expired(at:)``,
    /// ``unregistered(at:)``) is no attempt.
    ///
    /// | outcome   | settlement                                                                     |
    /// |-----------|--------------------------------------------------------------------------------|
    /// | accepted  | ended, accepted                                                                |
    /// | rejected  | ended, rejected with Apple's reason; a 410 carries its time, BadDeviceToken never |
    /// | throttled | retry after ``RetryWindow``; a message for one attempt: expired                |
    /// | unknown   | as throttled, and one more unknown attempt                                     |
    /// | notSent   | retry after ``RetryWindow``, also a message for one attempt                    |
    ///
    /// A retry that would not fit before the expiry makes the delivery expire now, with the last cause as its reason.
    func settlement(of outcome: Outcome, at now: Timestamp, random: Double) -> Settlement.Result {
        switch outcome {
        case .accepted:
            return ended(.accepted, reason: nil, history: claim.history.adding(nil), at: now)
        case .rejected(let reason, let since):
            let history = claim.history.adding(reason.rawValue)
            return ended(
                .rejected, reason: reason.rawValue, deadSince: endsRegistration(reason) ? since : nil,
                history: history, at: now)
        case .throttled(let reason, let after):
            return attemptFailed(.throttled(reason, after: after), at: now, random: random)
        case .notSent(let cause):
            return attemptFailed(.notSent(cause), at: now, random: random)
        case .unknown(let cause):
            return attemptFailed(.unknown(cause), at: now, random: random)
        }
    }

    /// Whether a refusal with this reason says that the install is gone; a 410 with a new reason does.
    private func endsRegistration(_ reason: APNSReason) -> Bool {
        guard !isForActivity else { return false }
        return APNSReasonTable.row(of: reason)?.actions.contains(.dropRegistration) ?? true
    }

    private func attemptFailed(_ setback: Setback, at now: Timestamp, random: Double) -> Settlement.Result {
        var history = claim.history.adding(setback.cause)
        if case .unknown = setback { history.unknownAttempts += 1 }
        return later(setback, history: history, at: now, random: random)
    }

    /// The settlement when no attempt could be handed over at all: a retry, or the end for lack of time.
    func setBack(by cause: TransportCause, at now: Timestamp, random: Double) -> Settlement.Result {
        var history = claim.history
        history.lastCause = cause.rawValue
        return later(.notSent(cause), history: history, at: now, random: random)
    }

    private func later(
        _ setback: Setback, history: AttemptHistory, at now: Timestamp, random: Double
    ) -> Settlement.Result {
        let lastMoment = expiresAt + .milliseconds(-RetryBounds.lastAttemptMilliseconds)
        let window = RetryWindow.after(setback, attempt: history.attempts)
        let isSpent = isOnce && setback.reachedPeer
        if !isSpent, let delay = window.delay(random: random, within: lastMoment - now) {
            return .retry(history, notBefore: now + delay)
        }
        return ended(.expired, reason: setback.cause, history: history, at: now)
    }

    /// The end of a delivery whose time ran out before another attempt.
    func expired(at now: Timestamp) -> Settlement.Result {
        ended(.expired, reason: claim.history.lastCause ?? EndReason.expired, history: claim.history, at: now)
    }

    /// The end of a delivery whose registration ended after accept.
    func unregistered(at now: Timestamp) -> Settlement.Result {
        ended(.rejected, reason: EndReason.unregistered, history: claim.history, at: now)
    }

    /// The end of a delivery whose message can't be built any more.
    func unbuildable(at now: Timestamp) -> Settlement.Result {
        ended(.rejected, reason: EndReason.invalidMessage, history: claim.history, at: now)
    }

    /// The end of a delivery whose message is not in the store.
    func messageMissing(at now: Timestamp) -> Settlement.Result {
        ended(.rejected, reason: EndReason.messageMissing, history: claim.history, at: now)
    }

    private func ended(
        _ outcome: LedgerOutcome, reason: String?, deadSince: Timestamp? = nil, history: AttemptHistory,
        at now: Timestamp
    ) -> Settlement.Result {
        .ended(
            LedgerEntry(
                outcome: outcome, reason: reason, deadSince: deadSince, history: history, time: now,
                // Wall time may be set back between accept and answer.
                latencyMilliseconds: max(0, (now - acceptedAt).wholeMilliseconds), apnsID: apnsID))
    }
}

/// Reasons in the ledger that are ours and not Apple's.
enum EndReason {
    /// Time ran out and no attempt was ever made.
    static let expired = "Expired"
    /// The registration ended after accept; Apple's word for the same thing.
    static let unregistered = "Unregistered"
    /// The message broke a limit when it was built again, after a change of the app's configuration.
    static let invalidMessage = "InvalidMessage"
    /// The store knows the delivery and not its message.
    static let messageMissing = "MessageMissing"
}

extension TransportCause {
    /// The store could not read the message. It never was an attempt.
    static let messageUnreadable = TransportCause(rawValue: "message_unreadable")
}

/// Bounds of retries that do not depend on the outcome.
enum RetryBounds {
    /// How long before its expiry a delivery's last attempt has to start.
    static let lastAttemptMilliseconds: Int64 = 1000
}

extension AttemptHistory {
    /// The history with one more attempt, which gave `cause` unless it was accepted.
    func adding(_ cause: String?) -> AttemptHistory {
        AttemptHistory(
            attempts: attempts + 1, unknownAttempts: unknownAttempts, lastCause: cause ?? lastCause)
    }
}
