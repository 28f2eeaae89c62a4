package import PushModel

/// How a delivery ended.
package struct LedgerEntry: Hashable, Sendable {
    /// The outcome.
    package var outcome: LedgerOutcome
    /// Apple's reason, or the last cause of an expired delivery; `nil` for accepted ones.
    package var reason: String?
    /// What the delivery taught about the registration's device token; `nil`: nothing that is not known. The store
    /// notes it in the same step, unless the registration has another device token by now.
    package var verdict: DeviceTokenVerdict?
    /// Whether the delivery ended because its device token was refused. When the registration has another one by now, the
    /// store makes a retry of it, see ``SettleResult/readdressed``.
    package var refusesDeviceToken: Bool
    /// Attempts made and unknown among them.
    package var history: AttemptHistory
    /// When it ended.
    package var time: Timestamp
    /// From accept to the end, milliseconds.
    package var latencyMilliseconds: Int64
    /// The `apns-id` that was sent.
    package var pushID: PushID
    /// The push service's own id of an accepted push, when it gives one.
    package var upstreamID: String?

    /// Puts an entry together.
    package init(
        outcome: LedgerOutcome, reason: String?, verdict: DeviceTokenVerdict?, refusesDeviceToken: Bool = false,
        history: AttemptHistory, time: Timestamp, latencyMilliseconds: Int64, pushID: PushID, upstreamID: String? = nil
    ) {
        self.upstreamID = upstreamID
        self.outcome = outcome
        self.reason = reason
        self.verdict = verdict
        self.refusesDeviceToken = refusesDeviceToken
        self.history = history
        self.time = time
        self.latencyMilliseconds = latencyMilliseconds
        self.pushID = pushID
    }
}

/// What APNs' answer says about the device token of a registration.
package enum DeviceTokenVerdict: Hashable, Sendable {
    /// It was accepted on this channel, which it was not before: it is proven from now on, the registration is of this
    /// channel, and its quarantine is over.
    case proven(in: Channel)
    /// APNs refused it everywhere although it had accepted it before: it is a suspect again.
    case doubtful
    /// APNs refused it everywhere for this reason and never accepted it: the registration is quarantined, unless it was
    /// refreshed meanwhile.
    case refused(Reason)
    /// APNs saw it dead at this time (410): the registration ends unless it was registered or refreshed after that.
    case dead(since: Timestamp)
}

/// The four ends of a delivery.
package enum LedgerOutcome: String, Hashable, Sendable, CaseIterable {
    /// APNs took it.
    case accepted
    /// APNs refused it for good.
    case rejected
    /// Its time ran out.
    case expired
    /// Its message was cancelled.
    case cancelled
}
