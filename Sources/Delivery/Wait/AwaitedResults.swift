import PushModel
import Store

/// What of a result is for senders who wait only: an earlier retry, an end in place of one, a retry that is
/// claimed although its route is held.
struct AwaitedResults: Sendable {
    let waiters: EndWaiters
    let gates: [Lane: LaneGate]
    /// What the causes in histories stand for.
    let refusals: RefusalCatalog

    /// How long who waits is left in peace while a probe is on its way that decides about others too.
    static let probeLook: Duration = .seconds(1)

    /// What is recorded for an answer, and what instead while somebody waits for the end.
    ///
    /// - Parameter random: a number in `0 ..< 1`, for the spread of retries; drawn for these alone.
    func settlement(
        of delivery: OpenDelivery, _ answer: SentBatch.Answer, random: @autoclosure () -> Double
    ) -> (result: Settlement.Result, orEnd: Settlement.Result?) {
        let result = delivery.settlement(
            of: answer.outcome, isAttempt: answer.isAttempt, at: answer.time, upstreamID: answer.upstreamID,
            random: random())
        guard !waiters.isEmpty else { return (result, nil) }
        let hastened = hastened(result, of: delivery, answer)
        return (hastened, end(of: delivery, hastened, answer))
    }

    /// A delivery that somebody waits for comes again soon while a probe is on its way: then it goes too, or its end is
    /// told.
    private func hastened(
        _ result: Settlement.Result, of delivery: OpenDelivery, _ answer: SentBatch.Answer
    ) -> Settlement.Result {
        guard answer.isBeingProbed, case .retry(let history, let notBefore) = result,
            waiters.isAwaited(delivery.claim.message)
        else { return result }
        return .retry(history, notBefore: min(notBefore, answer.time + Self.probeLook))
    }

    /// What is recorded in place of a retry, or of an end for lack of time, while somebody waits for the end.
    private func end(
        of delivery: OpenDelivery, _ result: Settlement.Result, _ answer: SentBatch.Answer
    ) -> Settlement.Result? {
        if case .ended(let entry) = result, entry.outcome != .expired { return nil }
        guard waiters.isAwaited(delivery.claim.message) else { return nil }
        let isHeld = gates[delivery.lane]?.isHeld(delivery.route) ?? false
        return delivery.endForWaiter(
            answer.outcome, isAttempt: answer.isAttempt, isHeld: isHeld, isBeingProbed: answer.isBeingProbed,
            at: answer.time)
    }

    /// A refused credential may get the route held before the second try, which tells whether another connection helps:
    /// who waits for that is not to wait for the end of the hold.
    func expectRetries(of batch: ResultBatch) {
        guard !waiters.isEmpty else { return }
        for (settlement, lane) in zip(batch.settlements, batch.lanes) where lane == .interactive {
            guard case .retry(let history, let notBefore) = settlement.result, isAboutCredential(history),
                waiters.isAwaited(settlement.delivery.message)
            else { continue }
            let retry = AwaitedRetry(message: settlement.delivery.message, due: notBefore)
            gates[lane]?.update { $0.expectAwaited(retry, of: settlement.delivery.route) }
        }
    }

    /// Whether the last attempt was refused because of the credential.
    private func isAboutCredential(_ history: AttemptHistory) -> Bool {
        guard let cause = history.lastCause else { return false }
        return refusals[cause]?.refusal.scope.isAboutCredential ?? false
    }
}
