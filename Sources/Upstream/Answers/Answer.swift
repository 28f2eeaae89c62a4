import HTTP2Client
import PushModel

/// What one exchange means: for the push an outcome, for the upstream a sign of how it is doing.
struct Answer {
    /// What became of the push.
    private(set) var outcome: Outcome
    /// What it says about the upstream.
    let sign: UpstreamSign
    /// What it says about credential, topic, device and load.
    private(set) var meaning: AnswerMeaning
    /// What the service says of an accepted push.
    let acceptance: Acceptance?

    /// A status that says accepted (RFC 9110 §15.3) and that the service does not document.
    let unusualSuccess: Int?

    /// Reads how a request ended.
    ///
    /// - Parameter now: wall time when it ended, for a `retry-after` that is a date.
    init(_ exchange: Exchange, of service: some PushService, at now: Timestamp) {
        switch exchange {
        case .answered(let response):
            outcome = Self.outcome(of: response, from: service, at: now)
            sign = UpstreamSign(outcome.refusal, status: response.status)
            meaning = AnswerMeaning(outcome)
            acceptance = outcome == .accepted ? service.acceptance(in: AcceptingAnswer(response)) : nil
            unusualSuccess =
                (200...299).contains(response.status) && !service.isUsualSuccess(response.status)
                ? response.status : nil
        case .notSent(let failure):
            outcome = .notSent(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
            meaning = .nothing
            acceptance = nil
            unusualSuccess = nil
        case .unanswered(let failure):
            outcome = .unknown(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
            meaning = .nothing
            acceptance = nil
            unusualSuccess = nil
        }
    }

    /// The push is refused after all as the others that the answer came with say.
    ///
    /// - Parameter isOfGroup: whether those of its group would be refused too.
    mutating func refuse(by refusal: Refusal, isOfGroup: Bool) {
        outcome = Outcome(refusal, retryAfter: nil)
        if isOfGroup { meaning = .groupRefused(refusal) }
    }

    /// An answer that slows the sender down is about its address, as far as is known.
    mutating func slowAddressAlone() {
        guard case .throttled(let refusal, let after) = outcome else { return }
        let narrowed = Refusal(refusal.reason, .load(.address), label: refusal.label, firstWait: refusal.firstWait)
        outcome = .throttled(narrowed, after: after)
        meaning = AnswerMeaning(outcome)
    }

    /// The service's reason when its table does not have it; `nil` otherwise.
    var unknownReason: Reason? {
        guard let refusal = outcome.refusal, refusal.label == Refusal.unknownLabel else { return nil }
        return refusal.reason
    }

    private static func outcome(
        of response: Response, from service: some PushService, at now: Timestamp
    ) -> Outcome {
        if (200...299).contains(response.status) { return .accepted }
        return Outcome(
            service.refusal(status: response.status, body: response.body), retryAfter: pause(of: response, at: now))
    }

    /// A longer pause is cut to this.
    private static let longestPause: Duration = .seconds(3600)

    /// `retry-after` in seconds or as a date (RFC 9110 §10.2.3). A date is held against the answer's own, when that was
    /// kept, so that a wrong clock here does no harm.
    static func pause(of response: Response, at now: Timestamp) -> Duration? {
        guard let text = response.header("retry-after") else { return nil }
        if let seconds = Int64(text) {
            return seconds < 0 ? nil : min(.seconds(min(seconds, 86_400)), longestPause)
        }
        guard let end = HTTPDate.time(of: text, now: now) else { return nil }
        let start = response.header("date").flatMap { HTTPDate.time(of: $0, now: now) } ?? now
        return min(max(.zero, end - start), longestPause)
    }
}
