import PushModel

extension Refusal {
    /// Reads an answer of APNs by the ``APNSReasonTable``, one with a reason that is not in it by its status.
    ///
    /// - Parameters:
    ///   - status: `:status`, none that accepts the push.
    ///   - reason: `reason` of the body; `nil` when there was none or it could not be read.
    ///   - timestamp: `timestamp` of the body: when APNs last saw the device token dead.
    init(apnsStatus status: Int, reason: Reason?, timestamp: Timestamp?) {
        let reason = reason ?? Reason(closestTo: status)
        let known = APNSReasonTable.catalog[reason]?.refusal
        let scope = known?.scope ?? Scope(apnsStatus: status)
        let isDead =
            switch scope {
            case .addressDead: true
            // Whatever reason a 410 gives, the push is over.
            case .credential, .connection, .load: status == 410
            case .push, .addressDoubtful, .topic: false
            }
        self.init(
            reason, isDead ? .addressDead(since: timestamp) : scope, label: known?.label ?? Self.unknownLabel)
    }
}

extension Refusal.Scope {
    /// What an answer with a reason that is not in the table is about.
    fileprivate init(apnsStatus status: Int) {
        self =
            switch status {
            // A new 403 speaks of the credential, as all others do: that is no fault of the message.
            case 403: .credential
            case 404, 405: .push(.request)
            case 410: .addressDead(since: nil)
            case 429: .load(.unspecified)
            case 400...499: .push(.unspecified)
            case 500...: .load(.failure)
            default: .connection(.misdirected)
            }
    }
}

extension Reason {
    /// The name for an answer without a reason: what its status stands for, otherwise `HTTP` and the status.
    fileprivate init(closestTo status: Int) {
        let names: [Int: Reason] = [
            403: .forbidden, 404: .badPath, 405: .methodNotAllowed, 410: .unregistered, 413: .payloadTooLarge,
            429: .tooManyRequests, 500: .internalServerError, 503: .serviceUnavailable,
        ]
        self = names[status] ?? Reason(rawValue: "HTTP\(status)")
    }
}
