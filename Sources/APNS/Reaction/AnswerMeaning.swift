import PushModel

/// What an answer says beyond its push, as the pauses, the pace and the table of devices read it.
enum AnswerMeaning: Hashable {
    /// APNs took the push.
    case accepted
    /// BadDeviceToken: the device token is wrong, or belongs to the other environment.
    case badDeviceToken
    /// The device gets too many pushes; `after`: how long to leave it alone at least.
    case deviceBusy(after: Duration?)
    /// The push is refused for its own or its device's sake.
    case pushRefused
    /// The topic is refused.
    case topicRefused(APNSReason)
    /// The credential is refused: nothing gets through.
    case credentialRefused(APNSReason)
    /// The credential is refused on this connection, or its token for now; another may take it.
    case connectionRefused(APNSReason)
    /// The provider token is called expired.
    case tokenExpired
    /// APNs is overloaded or fails; `after`: how long it wants to be left alone.
    case overloaded(after: Duration?)
    /// Nothing of that kind.
    case nothing

    /// Reads an answer by the ``APNSReasonTable``, one without a known reason by its status.
    init(status: Int, outcome: Outcome) {
        switch outcome {
        case .accepted: self = .accepted
        case .rejected(let reason, _): self = Self.refusal(reason)
        case .throttled(let reason, let after): self = Self.setback(reason, status: status, after: after)
        case .notSent, .unknown: self = .nothing
        }
    }

    private static func refusal(_ reason: APNSReason) -> AnswerMeaning {
        if reason == .badDeviceToken { return .badDeviceToken }
        let pauses = APNSReasonTable.row(of: reason)?.actions.contains(.pauseLane) ?? false
        return pauses ? .topicRefused(reason) : .pushRefused
    }

    private static func setback(_ reason: APNSReason, status: Int, after: Duration?) -> AnswerMeaning {
        switch reason {
        case .tooManyRequests: return .deviceBusy(after: after)
        case .expiredProviderToken: return .tokenExpired
        case .invalidProviderToken, .unrelatedKeyIDInToken, .tooManyProviderTokenUpdates:
            return .connectionRefused(reason)
        case .shutdown: return .nothing
        default: break
        }
        if status == 403 { return .credentialRefused(reason) }
        return status >= 500 ? .overloaded(after: after) : .nothing
    }

    /// What it says about the credential.
    var credentialVerdict: SendPause.Verdict {
        switch self {
        case .accepted, .badDeviceToken, .deviceBusy, .pushRefused, .topicRefused: .passed
        case .credentialRefused(let reason), .connectionRefused(let reason): .refused(reason)
        case .tokenExpired: .refused(.expiredProviderToken)
        case .overloaded, .nothing: .inconclusive
        }
    }

    /// What it says about the topic.
    var topicVerdict: SendPause.Verdict {
        switch self {
        case .accepted, .badDeviceToken, .deviceBusy, .pushRefused: .passed
        case .topicRefused(let reason): .refused(reason)
        case .credentialRefused, .connectionRefused, .tokenExpired, .overloaded, .nothing: .inconclusive
        }
    }

    /// What it says about the environment of the app's device tokens.
    var environmentVerdict: SendPause.Verdict {
        switch self {
        case .accepted, .deviceBusy, .pushRefused: .passed
        case .badDeviceToken: .refused(.badDeviceToken)
        case .topicRefused, .credentialRefused, .connectionRefused, .tokenExpired, .overloaded, .nothing: .inconclusive
        }
    }

    /// Whether APNs dealt with the push and did not complain of load.
    var isAnswered: Bool {
        switch self {
        case .overloaded, .nothing: false
        case .accepted, .badDeviceToken, .deviceBusy, .pushRefused, .topicRefused, .credentialRefused,
            .connectionRefused, .tokenExpired:
            true
        }
    }
}
