import HTTP2Client
import PushModel

/// What one exchange means: for the push an outcome, for the upstream a sign of how it is doing.
struct Answer {
    /// What became of the push.
    let outcome: Outcome
    /// What it says about the upstream.
    let sign: UpstreamSign
    /// What it says about credential, topic, device and load.
    let meaning: AnswerMeaning
    /// The service's own id of an accepted push.
    let id: String?

    /// A status that says accepted (RFC 9110 §15.3) and that the service does not document.
    let unusualSuccess: Int?

    /// Reads how a request ended.
    ///
    /// - Parameter now: wall time when it ended, for a `retry-after` that is a date.
    init(_ exchange: Exchange, of service: some PushService, at now: Timestamp) {
        switch exchange {
        case .answered(let response):
            let said = Self.outcome(of: response, from: service, at: now)
            outcome = said.waiting(by: service)
            sign = UpstreamSign(said.refusal, status: response.status)
            // What the service did not ask for holds back no other address.
            meaning = AnswerMeaning(said.refusal?.scope == .load(.address) ? outcome : said)
            id = said == .accepted ? service.id(of: response.body) : nil
            unusualSuccess =
                (200...299).contains(response.status) && !service.isUsualSuccess(response.status)
                ? response.status : nil
        case .notSent(let failure):
            outcome = .notSent(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
            meaning = .nothing
            id = nil
            unusualSuccess = nil
        case .unanswered(let failure):
            outcome = .unknown(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
            meaning = .nothing
            id = nil
            unusualSuccess = nil
        }
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

extension Outcome {
    /// With the wait that the service's table has, where the answer asked for none.
    fileprivate func waiting(by service: some PushService) -> Outcome {
        guard case .throttled(let refusal, after: nil) = self else { return self }
        return .throttled(refusal, after: service.wait(after: refusal))
    }
}
