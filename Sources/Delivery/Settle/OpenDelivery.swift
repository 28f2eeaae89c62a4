import PushModel
import Store

/// A claimed delivery with what its settlement needs to know of its message.
struct OpenDelivery: Sendable {
    /// The claim.
    let claim: ClaimedDelivery
    /// The lane that claimed it.
    let lane: Lane
    /// Whether the push service gets one attempt only (`apns-expiration: 0`, a time to live of 0).
    let isOnce: Bool
    /// Whether it goes to the token of a Live Activity: what APNs says of that says nothing about the install.
    let isForActivity: Bool
    /// The `apns-id` of each of its attempts.
    let pushID: PushID
    /// Whether the app reaches the environment that the registration is not of.
    let canProbe: Bool
    /// The end of the message's life on the delivery's platform; `nil`: not known.
    var endsAt: Timestamp?
    /// Whether what was sent and got no answer is sent again.
    var repeatsUnanswered = true

    /// Whether an attempt may be made after another that may have been.
    var mayRepeat: Bool { !isOnce && repeatsUnanswered }

    /// When the message was accepted.
    var acceptedAt: Timestamp { claim.acceptedAt }
    /// After this no attempt is started.
    var expiresAt: Timestamp { endsAt.map { min($0, claim.expiresAt) } ?? claim.expiresAt }
    /// Whether APNs has yet to accept the device token where it is sent. Of a Live Activity's token nothing is known.
    var isSuspect: Bool { isForActivity || isProbe || !claim.registration.isProven }
    /// Whether the attempt goes to the other environment, because the registration's own refused the device token. A
    /// refresh since then makes that void, and so does another delivery whose probe has corrected the environment.
    var isProbe: Bool {
        guard let since = claim.history.probingSince, let refusedBy = claim.history.refusedBy else { return false }
        return claim.registration.refreshedAt <= since && claim.registration.channel.environment == refusedBy
    }
    /// The way that its registration's pushes take.
    var route: PushRoute { claim.route }
    /// Where the attempt goes.
    var channel: Channel {
        let own = claim.registration.channel
        return isProbe ? own.other ?? own : own
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
    /// | rejected  | ended, rejected with its reason; a dead address ends the registration (2); a doubtful one: see ``refused(_:at:)`` |
    /// | rejected, the push's own time to live is over | ended, expired                             |
    /// | throttled | retry after ``RetryWindow``; a message for one attempt: expired (1)            |
    /// | throttled, no attempt | retry after ``RetryWindow``, also a message for one attempt        |
    /// | unknown   | as throttled, and one more unknown attempt; retry at once if the gateway cut it off; expired where the app does not repeat it |
    /// | notSent   | retry after ``RetryWindow``, also a message for one attempt                    |
    ///
    /// (1) unless the push service refused the connection or its credential, and did not look at the push
    /// (``Setback/reachedPeer``).
    /// (2) unless its time lies before the last refresh: ``DeliveryEnd/unregisteredEarlier``.
    ///
    /// A retry that would not fit before the expiry makes the delivery expire now, with the last cause as its reason.
    /// A probe that brings no answer about the device token leaves the first answer standing.
    ///
    /// - Parameters:
    ///   - isAttempt: `false`: the gateway held the push back; the push service saw nothing of it.
    ///   - upstreamID: what the push service said of an accepted push, as ``Acceptance/text``.
    ///   - random: drawn only for a retry: nearly every push is accepted, and chance is a call of the system.
    func settlement(
        of outcome: Outcome, isAttempt: Bool = true, at now: Timestamp, upstreamID: String? = nil,
        random: @autoclosure () -> Double
    ) -> Settlement.Result {
        if !isAttempt, case .throttled(let refusal, let after) = outcome, !(isProbe && refusal.scope.isLasting) {
            var history = claim.history
            history.lastCause = refusal.reason.rawValue
            return later(.held(refusal, after: after), history: history, at: now, random: random())
        }
        switch outcome {
        case .accepted:
            return ended(
                .accepted, reason: nil, verdict: isSuspect && !isForActivity ? .proven(in: channel) : nil,
                history: claim.history.adding(nil), upstreamID: upstreamID, at: now)
        case .rejected(let refusal) where refusal.scope == .addressDoubtful:
            return refused(refusal.reason.rawValue, at: now)
        // What is refused while probing for good and says nothing of the address leaves the first answer standing.
        case .rejected(let refusal) where isProbe && refusal.scope.isLasting,
            .throttled(let refusal, _) where isProbe && refusal.scope.isLasting:
            guard isAttempt else { return unprobed(at: now) }
            return standing(verdict: verdict(), after: refusal.reason.rawValue, at: now)
        case .notSent(.noRoute) where isProbe:
            return standing(verdict: verdict(), after: TransportCause.noRoute.rawValue, at: now)
        case .rejected(let refusal) where refusal.scope == .push(.timeToLive):
            let reason = claim.history.lastCause ?? refusal.reason.rawValue
            return ended(.expired, reason: reason, history: claim.history, at: now)
        case .rejected(let refusal):
            let history = isAttempt ? claim.history.adding(refusal.reason.rawValue) : claim.history
            return ended(by: refusal, history: history, at: now)
        case .throttled(let refusal, let after):
            return attemptFailed(.throttled(refusal, after: after), at: now, random: random())
        case .notSent(let cause):
            return attemptFailed(.notSent(cause), at: now, random: random())
        case .unknown(let cause):
            return attemptFailed(.unknown(cause), at: now, random: random())
        }
    }

    /// The end by a refusal of the push, or of its address: that ends the registration if the address died after the
    /// registration's last refresh.
    private func ended(by refusal: Refusal, history: AttemptHistory, at now: Timestamp) -> Settlement.Result {
        let isAboutAddress = refusal.scope.isAboutAddress
        let reason = refusal.reason.rawValue
        // Of a channel it is said without a time, and it is so now: no app makes it anew.
        guard !isForActivity, case .addressDead(let seen) = refusal.scope,
            let since = seen ?? (claim.registration.channel.isOfDevices ? nil : now)
        else {
            return ended(.rejected, reason: reason, isAboutAddress: isAboutAddress, history: history, at: now)
        }
        // The app has shown since then that it is there: the answer is of an earlier life of the address.
        guard since >= claim.registration.refreshedAt else {
            return ended(
                .rejected, reason: DeliveryEnd.unregisteredEarlier, isAboutAddress: true, history: history, at: now)
        }
        return ended(
            .rejected, reason: reason, verdict: .dead(since: since), isAboutAddress: true, history: history, at: now)
    }

    /// What the refusal of a doubtful address means. It says that the address is malformed, or of the other environment:
    /// so the same push is tried there, once, before anything is held against the registration.
    ///
    /// | the delivery                                               | settlement                                 |
    /// |------------------------------------------------------------|--------------------------------------------|
    /// | goes to a Live Activity, or to a quarantined registration  | ended, rejected                            |
    /// | was sent to the registration's environment, can be probed  | retry now, in the other environment        |
    /// | the same, but no time is left                              | ended, rejected                            |
    /// | was sent to the other environment, or there is none        | ended, rejected, with its verdict          |
    private func refused(_ reason: String, at now: Timestamp) -> Settlement.Result {
        // What ends a probe is the answer before it; otherwise this one, in its service's word.
        let end = isProbe ? EndReason.addressRefused : reason
        guard !isForActivity, !claim.registration.isQuarantined else {
            return standing(verdict: nil, after: reason, as: end, at: now)
        }
        guard !isProbe, canProbe else {
            return standing(verdict: verdict(ofRefusal: end), after: reason, as: end, at: now)
        }
        guard now <= lastMoment else { return standing(verdict: nil, after: reason, as: end, at: now) }
        var history = claim.history.adding(reason)
        // Not before the refresh that the push was sent with, even if the wall clock was set back.
        history.probingSince = max(now, claim.registration.refreshedAt)
        history.refusedBy = claim.registration.channel.environment
        return .retry(history, notBefore: now)
    }

    /// What a device token that is refused everywhere says about its registration: what was never accepted is
    /// quarantined; what was accepted before is a suspect again, and is quarantined on the next occasion.
    private func verdict(ofRefusal reason: String = EndReason.addressRefused) -> DeviceTokenVerdict {
        claim.registration.isProven ? .doubtful : .refused(Reason(rawValue: reason))
    }

    /// The end by the refusal of the address, after an attempt that gave `cause`.
    private func standing(
        verdict: DeviceTokenVerdict?, after cause: String, as reason: String = EndReason.addressRefused,
        at now: Timestamp
    ) -> Settlement.Result {
        ended(
            .rejected, reason: reason, verdict: verdict, isAboutAddress: true,
            history: claim.history.adding(cause), at: now)
    }

    /// The end of a delivery whose sender waits, where it would be tried again or expire otherwise: the gateway's credential is
    /// refused, or it has none, and only an operator can mend that. The sender is told at once, and since it may
    /// send again, nothing of this message is left to be sent.
    ///
    /// | outcome                                                      | settlement                        |
    /// |--------------------------------------------------------------|-----------------------------------|
    /// | throttled: the credential is refused                         | ended, rejected with its reason   |
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
            guard refusal.scope.isLasting || refusal.scope.isAboutCredential else { return nil }
            let isFirst = !refusal.scope.isLasting && claim.history.lastCause != refusal.reason.rawValue
            if isAttempt, isFirst, !isHeld { return nil }
            reason = refusal.reason.rawValue
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
        let isSpent = isOnce ? setback.reachedPeer : !repeatsUnanswered && setback.isUnknown
        if !isSpent, let delay = window.delay(random: random, within: lastMoment - now) {
            return .retry(history, notBefore: now + delay)
        }
        if isProbe {
            return ended(
                .rejected, reason: EndReason.addressRefused, isAboutAddress: true, history: history, at: now)
        }
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
            .rejected, reason: EndReason.addressRefused, verdict: verdict(), isAboutAddress: true,
            history: claim.history, at: now)
    }

    /// The end of a delivery whose time ran out before another attempt.
    func expired(at now: Timestamp) -> Settlement.Result {
        guard !isProbe else {
            return ended(
                .rejected, reason: EndReason.addressRefused, isAboutAddress: true, history: claim.history, at: now)
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
        ended(.rejected, reason: EndReason.unregistered, isAboutAddress: true, history: claim.history, at: now)
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
        _ outcome: LedgerOutcome, reason: String?, verdict: DeviceTokenVerdict? = nil, isAboutAddress: Bool = false,
        history: AttemptHistory, upstreamID: String? = nil, at now: Timestamp
    ) -> Settlement.Result {
        .ended(
            LedgerEntry(
                outcome: outcome, reason: reason, verdict: verdict,
                refusesDeviceToken: isAboutAddress && !isForActivity, history: history, time: now,
                // Wall time may be set back between accept and answer.
                latencyMilliseconds: max(0, (now - acceptedAt).wholeMilliseconds), pushID: pushID,
                upstreamID: upstreamID))
    }
}

extension ClaimedDelivery {
    /// The way that its registration's pushes take.
    var route: PushRoute {
        PushRoute(project: project, app: registration.app, channel: registration.channel)
    }
}

extension AttemptHistory {
    /// Whether an attempt of a message for one attempt may have been made, and the run that made it ended.
    var isInterrupted: Bool { interruptions > 0 }

    /// How many attempts the back-off after a setback grows by: those that ended unknown if this one did, otherwise the
    /// others; never those that the gateway cut off.
    ///
    /// An attempt counts as unknown also when its gateway was killed or lost its lease. That says nothing of the push service: were it
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
