import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// What BadDeviceToken means, here and in the other environment: no I/O, no clock.
struct ProbeSettlementTests {
    private static let now = SettlementTests.now
    private static let refusal = Outcome.rejected(.badDeviceToken)
    private static let probing = AttemptHistory(
        attempts: 1, lastCause: "BadDeviceToken", probingSince: now + .seconds(-5), refusedBy: .production)

    private func delivery(
        probing: Bool = false, life: Duration = .seconds(3600), isOnce: Bool = false, isForActivity: Bool = false,
        isProven: Bool = false, quarantine: Quarantine? = nil, canProbe: Bool = true
    ) -> OpenDelivery {
        SettlementTests.delivery(
            history: probing ? Self.probing : AttemptHistory(), life: life, isOnce: isOnce,
            isForActivity: isForActivity, provenAt: isProven ? Sample.start : nil, quarantine: quarantine,
            canProbe: canProbe)
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

    @Test(arguments: [false, true], [false, true])
    func theOtherEnvironmentIsTriedAtOnce(isProven: Bool, isOnce: Bool) throws {
        let delivery = delivery(isOnce: isOnce, isProven: isProven)
        #expect(!delivery.isProbe && delivery.channel == .apns(.production))
        let (history, notBefore) = try retry(delivery.settlement(of: Self.refusal, at: Self.now, random: 0.9))
        #expect(
            history
                == AttemptHistory(
                    attempts: 1, lastCause: "BadDeviceToken", probingSince: Self.now, refusedBy: .production))
        #expect(notBefore == Self.now)
        let probe = SettlementTests.delivery(history: history, canProbe: true)
        #expect(probe.isProbe && probe.channel == .apns(.sandbox) && probe.isSuspect)
        #expect(probe.pushID == delivery.pushID)
    }

    @Test func aClockThatWasSetBackDoesNotVoidTheProbe() throws {
        let early = Sample.start + .seconds(-60)
        let (history, _) = try retry(delivery().settlement(of: Self.refusal, at: early, random: 0))
        #expect(SettlementTests.delivery(history: history, canProbe: true).isProbe)
    }

    /// Two messages are refused; the probe of one corrects the registration before the other one is claimed.
    @Test func anotherDeliverysProofVoidsTheProbe() {
        let history = AttemptHistory(attempts: 1, probingSince: Self.now, refusedBy: .sandbox)
        let delivery = SettlementTests.delivery(history: history, provenAt: Self.now, canProbe: true)
        #expect(!delivery.isProbe && delivery.channel == .apns(.production))
    }

    @Test func aProbeThatWasHeldBackTeachesNothingAndIsNoAttempt() throws {
        let held = Outcome.throttled(.invalidProviderToken, after: .seconds(30))
        let delivery = delivery(probing: true)
        let (history, _) = try retry(delivery.settlement(of: held, isAttempt: false, at: Self.now, random: 0))
        #expect(history.attempts == 1 && history.refusedBy == .production)
        let lasting = Outcome.throttled(.forbidden, after: .seconds(30))
        let entry = try ended(delivery.settlement(of: lasting, isAttempt: false, at: Self.now, random: 0))
        #expect(entry.outcome == .rejected && entry.reason == "BadDeviceToken" && entry.history.attempts == 1)
    }

    @Test func aRefreshVoidsTheProbe() {
        let history = AttemptHistory(
            attempts: 1, probingSince: Sample.start + .seconds(-1), refusedBy: .production)
        let delivery = SettlementTests.delivery(history: history, canProbe: true)
        #expect(!delivery.isProbe && delivery.channel == .apns(.production))
    }

    @Test(arguments: [false, true])
    func whatTheOtherEnvironmentAcceptsCorrectsTheRegistration(isProven: Bool) throws {
        let probe = delivery(probing: true, isProven: isProven)
        let entry = try ended(probe.settlement(of: .accepted, at: Self.now, random: 0))
        #expect(entry.outcome == .accepted && entry.reason == nil)
        #expect(entry.verdict == .proven(in: .apns(.sandbox)))
        #expect(entry.history.attempts == 2)
    }

    @Test(arguments: [(true, true), (false, false)])
    func whatIsRefusedEverywhereIsQuarantinedUnlessItWasProven(probing: Bool, canProbe: Bool) throws {
        let suspect = delivery(probing: probing, canProbe: canProbe)
        let entry = try ended(suspect.settlement(of: Self.refusal, at: Self.now, random: 0))
        #expect(entry.outcome == .rejected && entry.reason == "BadDeviceToken")
        #expect(entry.verdict == .refused("BadDeviceToken"))
        let proven = delivery(probing: probing, isProven: true, canProbe: canProbe)
        #expect(try ended(proven.settlement(of: Self.refusal, at: Self.now, random: 0)).verdict == .doubtful)
    }

    @Test func noTimeLeftNothingLearned() throws {
        let delivery = delivery(life: .seconds(10))
        let entry = try ended(delivery.settlement(of: Self.refusal, at: Self.now, random: 0))
        #expect(entry.outcome == .rejected && entry.verdict == nil)
    }

    @Test func aLiveActivityIsNotProbedAndSaysNothing() throws {
        let entry = try ended(delivery(isForActivity: true).settlement(of: Self.refusal, at: Self.now, random: 0))
        #expect(entry.reason == "BadDeviceToken" && entry.verdict == nil)
    }

    @Test func aQuarantinedRegistrationIsNotProbedAgainAndIsFreeOnceItIsAccepted() throws {
        let quarantine = Quarantine(time: Sample.start, reason: "BadDeviceToken")
        let delivery = delivery(quarantine: quarantine)
        let refused = try ended(delivery.settlement(of: Self.refusal, at: Self.now, random: 0))
        #expect(refused.reason == "BadDeviceToken" && refused.verdict == nil)
        let accepted = try ended(delivery.settlement(of: .accepted, at: Self.now, random: 0))
        #expect(accepted.verdict == .proven(in: .apns(.production)))
    }

    @Test(arguments: [
        Outcome.throttled(.badEnvironmentKeyIDInToken, after: nil), .throttled(.forbidden, after: .seconds(60)),
        .rejected(.topicDisallowed), .notSent(.noRoute),
    ])
    func whereTheOtherEnvironmentIsClosedTheFirstAnswerStands(outcome: Outcome) throws {
        let entry = try ended(delivery(probing: true).settlement(of: outcome, at: Self.now, random: 0))
        #expect(entry.outcome == .rejected && entry.reason == "BadDeviceToken")
        #expect(entry.verdict == .refused("BadDeviceToken"))
        #expect(entry.history.lastCause == outcome.word)
    }

    @Test(arguments: [
        Outcome.throttled(.serviceUnavailable, after: nil), .notSent(.connectFailed), .unknown(.timedOut),
    ])
    func aProbeWithoutAnAnswerIsRepeatedForAWhile(outcome: Outcome) throws {
        let probe = delivery(probing: true)
        let (history, _) = try retry(probe.settlement(of: outcome, at: Self.now, random: 0))
        #expect(history.probingSince == Self.probing.probingSince)
        let late = Self.now + RetryBounds.probeLimit
        let entry = try ended(probe.settlement(of: outcome, at: late, random: 0))
        #expect(entry.outcome == .rejected && entry.reason == "BadDeviceToken")
        #expect(entry.verdict == nil, "nothing was learned about the device token")
    }

    @Test func aTokenThatIsDeadInTheOtherEnvironmentEndsTheRegistration() throws {
        let outcome = Outcome.rejected(.unregistered(since: Self.now))
        let entry = try ended(delivery(probing: true).settlement(of: outcome, at: Self.now, random: 0))
        #expect(entry.reason == "Unregistered" && entry.verdict == .dead(since: Self.now))
    }

    @Test func aProbeThatCannotBeMadeLeavesTheFirstAnswer() throws {
        let probe = delivery(probing: true, canProbe: false)
        let entry = try ended(probe.unprobed(at: Self.now))
        #expect(entry.reason == "BadDeviceToken" && entry.verdict == .refused("BadDeviceToken"))
        #expect(entry.history.attempts == 1)
        let late = try ended(probe.expired(at: Self.now))
        #expect(late.outcome == .rejected && late.reason == "BadDeviceToken" && late.verdict == nil)
    }
}
