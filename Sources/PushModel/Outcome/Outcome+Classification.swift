extension Outcome {
    /// Classifies an answer of APNs by the ``APNSReasonTable``; a reason that is not in it by its status.
    ///
    /// - Parameters:
    ///   - status: `:status`. APNs answers 200; whatever else says success (RFC 9110 §15.3) is taken for it, since a
    ///     repeat would reach the device twice.
    ///   - reason: `reason` of the body; `nil` when there was none or it could not be read.
    ///   - timestamp: `timestamp` of the body: when APNs last saw the device token dead.
    ///   - retryAfter: `retry-after`, when the answer had one.
    package init(status: Int, reason: APNSReason?, timestamp: Timestamp? = nil, retryAfter: Duration? = nil) {
        if (200...299).contains(status) {
            self = .accepted
            return
        }
        let reason = reason ?? APNSReason(closestTo: status)
        let isFinal: Bool
        if status == 410 {
            isFinal = true
        } else if let row = APNSReasonTable.row(of: reason) {
            isFinal = row.isFinal
        } else {
            // A new 403 speaks of the credential, as all others do: that is no fault of the message.
            isFinal = (400...499).contains(status) && status != 429 && status != 403
        }
        self = isFinal ? .rejected(reason, since: timestamp) : .throttled(reason, after: retryAfter)
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
        case .rejected(let reason, _), .throttled(let reason, _): reason.metricLabel
        case .notSent(let cause), .unknown(let cause): cause.rawValue
        }
    }

    /// APNs' reason as it came, or the cause; `nil` when accepted.
    package var reasonText: String? {
        switch self {
        case .accepted: nil
        case .rejected(let reason, _), .throttled(let reason, _): reason.rawValue
        case .notSent(let cause), .unknown(let cause): cause.rawValue
        }
    }
}

extension APNSReason {
    /// The name for an answer without a reason: what its status stands for, otherwise `HTTP` and the status.
    fileprivate init(closestTo status: Int) {
        let names: [Int: APNSReason] = [
            403: .forbidden, 404: .badPath, 405: .methodNotAllowed, 410: .unregistered, 413: .payloadTooLarge,
            429: .tooManyRequests, 500: .internalServerError, 503: .serviceUnavailable,
        ]
        self = names[status] ?? APNSReason(rawValue: "HTTP\(status)")
    }
}
