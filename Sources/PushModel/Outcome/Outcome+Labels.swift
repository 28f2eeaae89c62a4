extension Outcome {
    /// The outcome of an answer that refuses the push: ``rejected(_:)`` if that is final, otherwise ``throttled(_:after:)``.
    ///
    /// - Parameter retryAfter: how long to wait at least, when the answer said so.
    package init(_ refusal: Refusal, retryAfter: Duration?) {
        self = refusal.scope.isFinal ? .rejected(refusal) : .throttled(refusal, after: retryAfter)
    }

    /// Why the service refused the push, or wants it later; `nil`: it took it, or gave no answer.
    package var refusal: Refusal? {
        switch self {
        case .rejected(let refusal), .throttled(let refusal, _): refusal
        case .accepted, .notSent, .unknown: nil
        }
    }

    /// The value of the label `outcome` in metrics.
    package var metricLabel: String {
        switch self {
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .throttled: "throttled"
        case .notSent: "not_sent"
        case .unknown: "unknown"
        }
    }

    /// The value of the label `reason` in metrics, from a small set; empty when accepted.
    package var reasonLabel: String {
        switch self {
        case .accepted: ""
        case .rejected(let refusal), .throttled(let refusal, _): refusal.label
        case .notSent(let cause), .unknown(let cause): cause.rawValue
        }
    }
}
