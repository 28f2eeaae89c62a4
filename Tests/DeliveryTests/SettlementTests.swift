import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// What an outcome means for a delivery: no I/O, no clock.
struct SettlementTests {
    static let now = Sample.start + .seconds(10)

    static func delivery(
        history: AttemptHistory = AttemptHistory(), life: Duration = .seconds(3600), isOnce: Bool = false,
        isForActivity: Bool = false, provenAt: Timestamp? = nil, quarantine: Quarantine? = nil, canProbe: Bool = false,
        repeatsUnanswered: Bool = true
    ) -> OpenDelivery {
        let message = MessageID(acceptedAt: Sample.start, random: 1)
        var registration = Sample.registration(1)
        registration.provenAt = provenAt
        registration.quarantine = quarantine
        return OpenDelivery(
            claim: ClaimedDelivery(
                message: message, project: Sample.projectID, acceptedAt: Sample.start, expiresAt: Sample.start + life,
                registration: DeliveryRegistration(registration), page: nil, history: history),
            lane: .interactive, isOnce: isOnce,
            isForActivity: isForActivity,
            pushID: PushID(message: message, registration: registration.key), canProbe: canProbe,
            repeatsUnanswered: repeatsUnanswered)
    }

    private func ended(_ result: Settlement.Result) throws -> LedgerEntry {
        guard case .ended(let entry) = result else { throw Unexpected() }
        return entry
    }

    private func retry(_ result: Settlement.Result) throws -> (AttemptHistory, Timestamp) {
        guard case .retry(let history, let notBefore) = result else { throw Unexpected() }
        return (history, notBefore)
    }

    private struct Unexpected: Error {}

    @Test func acceptedEndsWithoutAReason() throws {
        let history = AttemptHistory(attempts: 2, unknownAttempts: 1, lastCause: "timed_out")
        let delivery = Self.delivery(history: history)
        let entry = try ended(delivery.settlement(of: .accepted, at: Self.now, random: 0))
        #expect(entry.outcome == .accepted)
        #expect(entry.reason == nil)
        #expect(entry.history.attempts == 3)
        #expect(entry.history.unknownAttempts == 1)
        #expect(entry.latencyMilliseconds == 10_000)
        #expect(entry.pushID == delivery.pushID)
        #expect(entry.time == Self.now)
    }

    /// The sender's own time to live is shorter than that of the delivery.
    @Test(arguments: [(nil, "TIME_TO_LIVE_OVER"), ("UNAVAILABLE", "UNAVAILABLE")] as [(String?, String)])
    func whatIsOverForItsSenderExpires(lastCause: String?, reason: String) throws {
        let history = AttemptHistory(attempts: lastCause == nil ? 0 : 1, unknownAttempts: 0, lastCause: lastCause)
        let entry = try ended(
            Self.delivery(history: history).settlement(
                of: .rejected(Refusal("TIME_TO_LIVE_OVER", .push(.timeToLive))), isAttempt: false, at: Self.now,
                random: 0))
        #expect(entry.outcome == .expired && entry.reason == reason && entry.history.attempts == history.attempts)
        #expect(entry.verdict == nil)
    }

    /// Google has no key by which it would know a repeat: an app may rather lose a push than have it shown twice.
    @Test(arguments: [TransportCause.timedOut, .reset, .shutdown])
    func whatGotNoAnswerEndsWhereTheAppDoesNotRepeatIt(cause: TransportCause) throws {
        let delivery = Self.delivery(repeatsUnanswered: false)
        let entry = try ended(delivery.settlement(of: .unknown(cause), at: Self.now, random: 0))
        #expect(entry.outcome == .expired && entry.reason == cause.rawValue && entry.history.unknownAttempts == 1)
        // What was provably not processed is sent again.
        let later = Outcome.throttled(Refusal("UNAVAILABLE", .load(.service)), after: nil)
        for outcome in [Outcome.notSent(cause), later] {
            #expect(try retry(delivery.settlement(of: outcome, at: Self.now, random: 0)).0.unknownAttempts == 0)
        }
        _ = try retry(Self.delivery().settlement(of: .unknown(cause), at: Self.now, random: 0))
    }

    @Test func onlyWhatWasSentToASuspectProvesIt() throws {
        var delivery = Self.delivery()
        #expect(delivery.isSuspect)
        let entry = try ended(delivery.settlement(of: .accepted, at: Self.now, random: 0))
        #expect(entry.verdict == .proven(in: .apns(.production)))
        delivery = Self.delivery(provenAt: Sample.start)
        #expect(!delivery.isSuspect)
        #expect(try ended(delivery.settlement(of: .accepted, at: Self.now, random: 0)).verdict == nil)
    }

    @Test(arguments: [nil, Sample.start])
    func theTokenOfALiveActivityIsASuspectAndProvesNothing(provenAt: Timestamp?) throws {
        let delivery = Self.delivery(isForActivity: true, provenAt: provenAt)
        #expect(delivery.isSuspect)
        #expect(try ended(delivery.settlement(of: .accepted, at: Self.now, random: 0)).verdict == nil)
    }

    @Test(arguments: ["Unregistered", "ExpiredToken", "SomethingNew"])
    func rejectedCarriesApplesReasonAndTime(reason: String) throws {
        let since = Sample.start + .seconds(5)
        let outcome = Outcome.rejected(Refusal(Reason(rawValue: reason), .addressDead(since: since)))
        let entry = try ended(Self.delivery().settlement(of: outcome, at: Self.now, random: 0))
        #expect(entry.outcome == .rejected)
        #expect(entry.reason == reason)
        #expect(entry.verdict == .dead(since: since))
    }

    @Test(arguments: [Refusal.deviceTokenNotForTopic, .payloadTooLarge, .badTopic])
    func noOtherRefusalEndsARegistration(refusal: Refusal) throws {
        let outcome = Outcome.rejected(refusal)
        let entry = try ended(Self.delivery().settlement(of: outcome, at: Self.now, random: 0))
        #expect(entry.verdict == nil)
    }

    @Test func aDeadLiveActivityDoesNotEndTheRegistration() throws {
        let outcome = Outcome.rejected(.expiredToken(since: Self.now))
        let delivery = Self.delivery(isForActivity: true)
        let entry = try ended(delivery.settlement(of: outcome, at: Self.now, random: 0))
        #expect(entry.reason == "ExpiredToken")
        #expect(entry.verdict == nil)
    }

    @Test(arguments: [
        (Outcome.throttled(.tooManyRequests, after: nil), "TooManyRequests", 0),
        (.unknown(.timedOut), "timed_out", 1),
        (.notSent(.refused), "refused", 0),
    ])
    func setbacksAreTriedAgain(outcome: Outcome, cause: String, unknown: Int) throws {
        let (history, notBefore) = try retry(Self.delivery().settlement(of: outcome, at: Self.now, random: 0))
        #expect(history == AttemptHistory(attempts: 1, unknownAttempts: unknown, lastCause: cause))
        #expect(notBefore > Self.now)
    }

    @Test func whatAPNsAskedForIsKept() throws {
        let outcome = Outcome.throttled(.serviceUnavailable, after: .seconds(90))
        let (_, notBefore) = try retry(Self.delivery().settlement(of: outcome, at: Self.now, random: 0))
        #expect(notBefore == Self.now + .seconds(90))
    }

    @Test func aRetryBeyondTheExpiryExpiresNow() throws {
        let outcome = Outcome.throttled(.serviceUnavailable, after: .seconds(90))
        let delivery = Self.delivery(life: .seconds(60))
        let entry = try ended(delivery.settlement(of: outcome, at: Self.now, random: 0))
        #expect(entry.outcome == .expired)
        #expect(entry.reason == "ServiceUnavailable")
        #expect(entry.history.attempts == 1)
    }

    @Test func aLongBackOffIsCutToMakeOneMoreAttempt() throws {
        let delivery = Self.delivery(history: AttemptHistory(attempts: 12, unknownAttempts: 12), life: .seconds(60))
        let result = delivery.settlement(of: .unknown(.connectionLost), at: Self.now, random: 0.999)
        let (_, notBefore) = try retry(result)
        #expect(notBefore < delivery.expiresAt)
        #expect(notBefore > Self.now + .seconds(40))
    }

    /// Setbacks that say something of APNs or of the way to it, in random order between any number of interruptions: the
    /// pause is as long as without these.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func interruptionsDoNotMakePausesLonger(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let outcomes: [Outcome] = [
            .throttled(.serviceUnavailable, after: nil), .notSent(.refused),
            .throttled(.tooManyRequests, after: nil),
            .throttled(.expiredProviderToken, after: nil), .unknown(.timedOut), .unknown(.connectionLost),
        ]
        var (calm, restless) = (AttemptHistory(), AttemptHistory())
        for _ in 0..<12 {
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                restless.attempts += 1
                restless.unknownAttempts += 1
                restless.interruptions += 1
                restless.lastCause = TransportCause.interrupted.rawValue
            }
            let outcome = try #require(outcomes.randomElement(using: &random))
            let chance = Double.random(in: 0..<1, using: &random)
            let expected = try retry(
                Self.delivery(history: calm).settlement(of: outcome, at: Self.now, random: chance))
            let found = try retry(
                Self.delivery(history: restless).settlement(of: outcome, at: Self.now, random: chance))
            #expect(found.1 == expected.1)
            (calm, restless) = (expected.0, found.0)
        }
        #expect(restless.attempts - restless.interruptions == 12, "no attempt is left out of the count")
        #expect(restless.unknownAttempts - restless.interruptions == calm.unknownAttempts)
    }

    @Test(arguments: [Outcome.unknown(.shutdown), .notSent(.shutdown)])
    func whatTheGatewayCutOffIsDueAtOnce(outcome: Outcome) throws {
        let delivery = Self.delivery(history: AttemptHistory(attempts: 17, unknownAttempts: 17, interruptions: 16))
        let (history, notBefore) = try retry(delivery.settlement(of: outcome, at: Self.now, random: 0.999))
        #expect(notBefore == Self.now)
        #expect(history.attempts == 18)
        let (_, later) = try retry(delivery.settlement(of: .unknown(.timedOut), at: Self.now, random: 0.999))
        #expect(later < Self.now + .seconds(3.1), "one time-out among them lets it wait as one does")
    }

    @Test func aRefusalOfTheDeviceTokenSaysSo() throws {
        func refuses(_ outcome: Outcome, isForActivity: Bool = false) throws -> Bool {
            try ended(
                Self.delivery(isForActivity: isForActivity).settlement(of: outcome, at: Self.now, random: 0)
            ).refusesDeviceToken
        }
        for refusal in [Refusal.badDeviceToken, .unregistered, .expiredToken, .deviceTokenNotForTopic] {
            #expect(try refuses(.rejected(refusal)))
            #expect(try !refuses(.rejected(refusal), isForActivity: true), "that token is the message's own")
        }
        #expect(try !refuses(.rejected(.payloadTooLarge)))
        #expect(try !refuses(.accepted))
    }

    /// Also answers that fail to come make the pause longer.
    @Test func answersThatDoNotComeMakePausesLonger() throws {
        var history = AttemptHistory()
        var pauses: [Duration] = []
        for _ in 0..<12 {
            let (next, notBefore) = try retry(
                Self.delivery(history: history).settlement(of: .unknown(.timedOut), at: Self.now, random: 0.999))
            pauses.append(notBefore - Self.now)
            history = next
        }
        #expect(pauses == pauses.sorted() && pauses[11] > .seconds(800))
    }

    @Test(arguments: [
        Outcome.throttled(.tooManyRequests, after: nil), .unknown(.timedOut),
    ])
    func aMessageForOneAttemptExpiresAfterIt(outcome: Outcome) throws {
        let delivery = Self.delivery(life: .seconds(30), isOnce: true)
        let entry = try ended(delivery.settlement(of: outcome, at: Self.now, random: 0))
        #expect(entry.outcome == .expired)
    }

    @Test func aMessageForOneAttemptIsSentAgainIfProvablyUnsent() throws {
        let delivery = Self.delivery(life: .seconds(30), isOnce: true)
        let (_, notBefore) = try retry(
            delivery.settlement(of: .notSent(.connectFailed), at: Self.now, random: 0.5))
        #expect(notBefore == Self.now + .milliseconds(600))
    }

    @Test(arguments: [
        Refusal.expiredProviderToken, .invalidProviderToken, .shutdown, .unrelatedKeyIDInToken, .idleTimeout,
        .tooManyProviderTokenUpdates,
    ])
    func anAttemptThatAPNsDidNotLookAtIsNotTheOnlyOne(refusal: Refusal) throws {
        let delivery = Self.delivery(life: .seconds(30), isOnce: true)
        let outcome = Outcome.throttled(refusal, after: nil)
        let (history, _) = try retry(delivery.settlement(of: outcome, at: Self.now, random: 0))
        #expect(history.attempts == 1)
    }

    @Test(arguments: [true, false])
    func whatTheGatewayHeldBackIsNoAttempt(isOnce: Bool) throws {
        let history = AttemptHistory(attempts: 2, unknownAttempts: 1, lastCause: "reset")
        let delivery = Self.delivery(history: history, life: .seconds(60), isOnce: isOnce)
        let outcome = Outcome.throttled(.forbidden, after: .seconds(20))
        let result = delivery.settlement(of: outcome, isAttempt: false, at: Self.now, random: 0)
        let (after, notBefore) = try retry(result)
        #expect(after == AttemptHistory(attempts: 2, unknownAttempts: 1, lastCause: "Forbidden"))
        #expect(notBefore == Self.now + .seconds(20))
    }

    @Test func whatIsHeldBackBeyondItsExpiryExpiresNow() throws {
        let outcome = Outcome.throttled(.forbidden, after: .seconds(90))
        let delivery = Self.delivery(life: .seconds(60))
        let entry = try ended(delivery.settlement(of: outcome, isAttempt: false, at: Self.now, random: 0))
        #expect(entry.outcome == .expired && entry.reason == "Forbidden")
        #expect(entry.history.attempts == 0)
    }

    @Test func whatWasNeverAttemptedKeepsItsHistory() throws {
        let history = AttemptHistory(attempts: 3, unknownAttempts: 1, lastCause: "reset")
        let delivery = Self.delivery(history: history)
        let expired = try ended(delivery.expired(at: Self.now))
        #expect(expired.reason == "reset")
        #expect(expired.history == history)
        #expect(try ended(Self.delivery().expired(at: Self.now)).reason == "Expired")
        #expect(try ended(delivery.unregistered(at: Self.now)).reason == "Unregistered")
        let (after, _) = try retry(delivery.setBack(by: .noRoute, at: Self.now, random: 0))
        #expect(after == AttemptHistory(attempts: 3, unknownAttempts: 1, lastCause: "no_route"))
    }

    @Test func wallTimeSetBackGivesNoNegativeLatency() throws {
        let entry = try ended(
            Self.delivery().settlement(of: .accepted, at: Sample.start + .seconds(-5), random: 0))
        #expect(entry.latencyMilliseconds == 0)
    }
}
