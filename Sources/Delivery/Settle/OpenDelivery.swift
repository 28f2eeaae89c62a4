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
    /// Whether it goes to the token of a Live Activity: what APNs says of that says nothing about the install.
    let isForActivity: Bool
    /// The `apns-id` of each of its attempts.
    let apnsID: APNSID
    /// Whether the app reaches the environment that the registration is not of.
    let canProbe: Bool

    /// When the message was accepted.
    var acceptedAt: Timestamp { claim.acceptedAt }
    /// After this no attempt is started.
    var expiresAt: Timestamp { claim.expiresAt }
    /// Whether APNs has yet to accept the device token where it is sent. Of a Live Activity's token nothing is known.
    var isSuspect: Bool { isForActivity || isProbe || !claim.registration.isProven }
    /// Whether the attempt goes to the other environment, because the registration's own refused the device token. A
    /// refresh since then makes that void, and so does another delivery whose probe has corrected the environment.
    var isProbe: Bool {
        guard let since = claim.history.probingSince else { return false }
        return claim.registration.refreshedAt <= since && claim.history.refusedBy == claim.registration.environment
    }
    /// The way that its registration's pushes take.
    var route: PushRoute { claim.route }
    /// Where the attempt goes.
    var environment: APNSEnvironment {
        isProbe ? claim.registration.environment.other : claim.registration.environment
    }
}

extension OpenDelivery {
    /// What the answer to an attempt means for the delivery.
    ///
    /// `attempts` counts what was handed to the upstream and ended, `notSent` included: the back-off of an outage grows by
    /// it (``AttemptHistory/attempts(like:)``). What is decided without the upstream (``setBack(by:at:random:)`` before a hand-over, ``expired(at:)``,
    /// ``unregistered(at:)``) is no attempt.
    ///
    /// A refusal of the device token ends the delivery only if the registration still has that token; otherwise the store
    /// makes a retry of it (``Store/SettleResult/readdressed``).
    ///
    /// | outcome   | settlement                                                                     |
    /// |-----------|--------------------------------------------------------------------------------|
    /// | accepted  | ended, accepted; a suspect's registration is proven, in the environment that took it |
    /// | rejected  | ended, rejected with Apple's reason; a 410 ends the registration (2); BadDeviceToken: see ``refused(at:)`` |
    /// | throttled | retry after ``RetryWindow``; a message for one attempt: expired (1)            |
    /// | throttled, no attempt | retry after ``RetryWindow``, also a message for one attempt        |
    /// | unknown   | as throttled, and one more unknown attempt; retry at once if the gateway cut it off |
    /// | notSent   | retry after ``RetryWindow``, also a message for one attempt                    |
    ///
    /// (1) unless APNs refused the connection or its credential, and did not look at the push
    /// (``Setback/reachedPeer``).
    /// (2) unless its time lies before the last refresh: ``DeliveryEnd/unregisteredEarlier``.
    ///
    /// A retry that would not fit before the expiry makes the delivery expire now, with the last cause as its reason.
    /// A probe that brings no answer about the device token leaves the first answer standing.
    ///
    /// - Parameter isAttempt: `false`: the gateway held the push back; APNs saw nothing of it.
    func settlement(
        of outcome: Outcome, isAttempt: Bool = true, at now: Timestamp, random: Double
    ) -> Settlement.Result {
        if !isAttempt, case .throttled(let reason, let after) = outcome, !(isProbe && isAboutCredential(reason)) {
            var history = claim.history
            history.lastCause = reason.rawValue
            return later(.held(reason, after: after), history: history, at: now, random: random)
        }
        switch outcome {
        case .accepted:
            return ended(
                .accepted, reason: nil, verdict: isSuspect && !isForActivity ? .proven(in: environment) : nil,
                history: claim.history.adding(nil), at: now)
        case .rejected(.badDeviceToken, _):
            return refused(at: now)
        case .rejected(let reason, _) where isProbe && isAboutCredential(reason),
            .throttled(let reason, _) where isProbe && isAboutCredential(reason):
            guard isAttempt else { return unprobed(at: now) }
            return standing(.badDeviceToken, verdict: verdictOfRefusal, after: reason.rawValue, at: now)
        case .notSent(.noRoute) where isProbe:
            return standing(.badDeviceToken, verdict: verdictOfRefusal, after: TransportCause.noRoute.rawValue, at: now)
        case .rejected(let reason, let since):
            let history = isAttempt ? claim.history.adding(reason.rawValue) : claim.history
            guard endsRegistration(reason), let since else {
                return ended(.rejected, reason: reason.rawValue, history: history, at: now)
            }
            // The app has shown since then that it is there: what APNs says is of an earlier life of the device token.
            guard since >= claim.registration.refreshedAt else {
                return ended(.rejected, reason: DeliveryEnd.unregisteredEarlier, history: history, at: now)
            }
            return ended(.rejected, reason: reason.rawValue, verdict: .dead(since: since), history: history, at: now)
        case .throttled(let reason, let after):
            return attemptFailed(.throttled(reason, after: after), at: now, random: random)
        case .notSent(let cause):
            return attemptFailed(.notSent(cause), at: now, random: random)
        case .unknown(let cause):
            return attemptFailed(.unknown(cause), at: now, random: random)
        }
    }

    /// What BadDeviceToken means. It says that the token is malformed, or of the other environment: so the same push is
    /// tried there, once, before anything is held against the registration.
    ///
    /// | the delivery                                               | settlement                                 |
    /// |------------------------------------------------------------|--------------------------------------------|
    /// | goes to a Live Activity, or to a quarantined registration  | ended, rejected                            |
    /// | was sent to the registration's environment, can be probed  | retry now, in the other environment        |
    /// | the same, but no time is left                              | ended, rejected                            |
    /// | was sent to the other environment, or there is none        | ended, rejected, with ``verdictOfRefusal`` |
    private func refused(at now: Timestamp) -> Settlement.Result {
        let reason = APNSReason.badDeviceToken
        guard !isForActivity, !claim.registration.isQuarantined else {
            return standing(reason, verdict: nil, after: reason.rawValue, at: now)
        }
        guard !isProbe, canProbe else {
            return standing(reason, verdict: verdictOfRefusal, after: reason.rawValue, at: now)
        }
        guard now <= lastMoment else { return standing(reason, verdict: nil, after: reason.rawValue, at: now) }
        var history = claim.history.adding(reason.rawValue)
        // Not before the refresh that the push was sent with, even if the wall clock was set back.
        history.probingSince = max(now, claim.registration.refreshedAt)
        history.refusedBy = claim.registration.environment
        return .retry(history, notBefore: now)
    }

    /// What a device token that is refused everywhere says about its registration: what APNs never accepted is
    /// quarantined; what it did accept before is a suspect again, and is quarantined on the next occasion.
    private var verdictOfRefusal: DeviceTokenVerdict {
        claim.registration.isProven ? .doubtful : .refused(.badDeviceToken)
    }

    /// The end by `reason`, after an attempt that gave `cause`.
    private func standing(
        _ reason: APNSReason, verdict: DeviceTokenVerdict?, after cause: String, at now: Timestamp
    ) -> Settlement.Result {
        ended(.rejected, reason: reason.rawValue, verdict: verdict, history: claim.history.adding(cause), at: now)
    }

    /// Whether a reason is about the way upstream, will stay so, and says nothing of the device token. What another
    /// connection may cure comes and goes.
    private func isAboutCredential(_ reason: APNSReason) -> Bool {
        guard let actions = APNSReasonTable.row(of: reason)?.actions else { return false }
        return actions.contains(.pauseLane) && !actions.contains(.otherConnection)
    }

    /// Whether a refusal with this reason says that the install is gone; a 410 with a new reason does.
    private func endsRegistration(_ reason: APNSReason) -> Bool {
        guard !isForActivity else { return false }
        return APNSReasonTable.row(of: reason)?.actions.contains(.dropRegistration) ?? true
    }

    /// Whether a refusal with this reason is about the device token that the push went to.
    private func refusesDeviceToken(_ reason: String?) -> Bool {
        guard !isForActivity, let reason = reason.map(APNSReason.init(rawValue:)) else { return false }
        switch reason {
        case .badDeviceToken, .deviceTokenNotForTopic: return true
        case APNSReason(rawValue: DeliveryEnd.unregisteredEarlier): return true
        default: return APNSReasonTable.row(of: reason)?.actions.contains(.dropRegistration) ?? false
        }
    }

    /// The end of a delivery whose sender waits, where it would be tried again or expire otherwise: the gateway's credential is
    /// refused, or it has none, and nobody but an operator can mend that. The sender is told at once, and since it may
    /// send again, nothing of this message is left to be sent.
    ///
    /// | outcome                                                      | settlement                        |
    /// |--------------------------------------------------------------|-----------------------------------|
    /// | throttled by a 403                                           | ended, rejected with its reason   |
    /// | the same, where another connection may help                  | (1)                               |
    /// | throttled, no attempt: a credential or a topic is refused    | ended, rejected with its reason   |
    /// | the same, while a probe is on its way                        | `nil`: the probe tells            |
    /// | notSent, no_route                                            | ended, rejected with no_route     |
    /// | anything else, and all of a probe, whose first answer stands | `nil`: tried again                |
    ///
    /// (1) As above when the attempt before gave the same reason, or the route is held, since others were refused too.
    /// Otherwise `nil`: it is tried on another connection.
    func endForWaiter(
        _ outcome: Outcome, isAttempt: Bool, isHeld: Bool, isBeingProbed: Bool = false, at now: Timestamp
    ) -> Settlement.Result? {
        guard !isProbe, isAttempt || !isBeingProbed else { return nil }
        let reason: String
        switch outcome {
        case .throttled(let refusal, _):
            guard let row = APNSReasonTable.row(of: refusal) else { return nil }
            guard row.status == 403 || row.actions.contains(.pauseLane) else { return nil }
            let isFirst = row.actions.contains(.otherConnection) && claim.history.lastCause != refusal.rawValue
            if isAttempt, isFirst, !isHeld { return nil }
            reason = refusal.rawValue
        case .notSent(.noRoute): reason = TransportCause.noRoute.rawValue
        case .accepted, .rejected, .notSent, .unknown: return nil
        }
        return ended(
            .rejected, reason: reason, history: isAttempt ? claim.history.adding(reason) : claim.history, at: now)
    }

    private func attemptFailed(_ setback: Setback, at now: Timestamp, random: Double) -> Settlement.Result {
        var history = claim.history.adding(setback.cause)
        if case .unknown(let cause) = setback {
            history.unknownAttempts += 1
            if cause.isInterruption { history.interruptions += 1 }
        }
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
        let window = RetryWindow.after(setback, attempt: history.attempts(like: setback))
        let isSpent = isOnce && setback.reachedPeer
        if !isSpent, let delay = window.delay(random: random, within: lastMoment - now) {
            return .retry(history, notBefore: now + delay)
        }
        if isProbe { return ended(.rejected, reason: APNSReason.badDeviceToken.rawValue, history: history, at: now) }
        return ended(.expired, reason: setback.cause, history: history, at: now)
    }

    /// When the last attempt has to start: before the expiry, and a probe soon, since the other environment may not be
    /// reachable from here at all.
    private var lastMoment: Timestamp {
        let last = expiresAt + .milliseconds(-RetryBounds.lastAttemptMilliseconds)
        guard isProbe, let since = claim.history.probingSince else { return last }
        return min(last, since + RetryBounds.probeLimit)
    }

    /// The end of a probe that can't be made: the first answer stands.
    func unprobed(at now: Timestamp) -> Settlement.Result {
        ended(
            .rejected, reason: APNSReason.badDeviceToken.rawValue, verdict: verdictOfRefusal, history: claim.history,
            at: now)
    }

    /// The end of a delivery whose time ran out before another attempt.
    func expired(at now: Timestamp) -> Settlement.Result {
        guard !isProbe else {
            return ended(
                .rejected, reason: APNSReason.badDeviceToken.rawValue, history: claim.history, at: now)
        }
        return ended(.expired, reason: claim.history.lastCause ?? EndReason.expired, history: claim.history, at: now)
    }

    /// The end of a delivery of a message for one attempt that was interrupted: it may have been made.
    func spent(at now: Timestamp) -> Settlement.Result {
        ended(
            .expired, reason: claim.history.lastCause ?? TransportCause.interrupted.rawValue, history: claim.history,
            at: now)
    }

    /// The end of a delivery whose registration ended after accept.
    func unregistered(at now: Timestamp) -> Settlement.Result {
        ended(.rejected, reason: EndReason.unregistered, history: claim.history, at: now)
    }

    /// The end of a delivery whose message can't be built any more.
    func unbuildable(at now: Timestamp) -> Settlement.Result {
        ended(.rejected, reason: EndReason.invalidMessage, history: claim.history, at: now)
    }

    /// The end of a delivery to an app of a platform that nothing is sent to.
    func unserved(at now: Timestamp) -> Settlement.Result {
        ended(.rejected, reason: EndReason.platformNotServed, history: claim.history, at: now)
    }

    /// The end of a delivery whose message is not in the store.
    func messageMissing(at now: Timestamp) -> Settlement.Result {
        ended(.rejected, reason: EndReason.messageMissing, history: claim.history, at: now)
    }

    private func ended(
        _ outcome: LedgerOutcome, reason: String?, verdict: DeviceTokenVerdict? = nil, history: AttemptHistory,
        at now: Timestamp
    ) -> Settlement.Result {
        .ended(
            LedgerEntry(
                outcome: outcome, reason: reason, verdict: verdict,
                refusesDeviceToken: outcome == .rejected && refusesDeviceToken(reason), history: history, time: now,
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
    /// The app is of a platform that has no upstream.
    static let platformNotServed = "PlatformNotServed"
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
    /// No back-off is longer: an upstream may ask for an hour, and chance adds a quarter. What waits longer was given its
    /// time by a clock that was wrong.
    static let longestWait: Duration = .seconds(2 * 3600)
    /// How long the other environment is tried.
    static let probeLimit: Duration = .seconds(600)
}

extension ClaimedDelivery {
    /// The way that its registration's pushes take.
    var route: PushRoute {
        PushRoute(project: project, app: registration.app, environment: registration.environment)
    }
}

extension AttemptHistory {
    /// Whether an attempt of a message for one attempt may have been made, and the run that made it ended.
    var isInterrupted: Bool { interruptions > 0 }

    /// Whether the last attempt was refused because of the credential.
    var isAboutCredential: Bool {
        guard let lastCause else { return false }
        return APNSReasonTable.row(of: APNSReason(rawValue: lastCause))?.status == 403
    }

    /// How many attempts the back-off after a setback grows by: those that ended unknown if this one did, otherwise the
    /// others; never those that the gateway cut off.
    ///
    /// An attempt counts as unknown also when its gateway was killed or lost its lease. That says nothing of APNs: were it
    /// counted here, a delivery that was interrupted ten times would wait for a quarter of an hour after its first 503 or
    /// time-out.
    func attempts(like setback: Setback) -> Int {
        switch setback {
        case .unknown: unknownAttempts - interruptions
        case .throttled, .held, .notSent: attempts - unknownAttempts
        }
    }

    /// The history with one more attempt, which gave `cause` unless it was accepted.
    func adding(_ cause: String?) -> AttemptHistory {
        AttemptHistory(
            attempts: attempts + 1, unknownAttempts: unknownAttempts, interruptions: interruptions,
            lastCause: cause ?? lastCause, probingSince: probingSince, refusedBy: refusedBy)
    }
}
