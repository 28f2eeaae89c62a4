import Delivery

/// Why the legacy API does not send a message to somebody: the strings that its clients know (fcm.md §3).
enum LegacyError: String, Error, Hashable, Sendable, CaseIterable {
    /// The request names no recipient.
    case missingRegistration = "MissingRegistration"
    /// The text is no token.
    case invalidRegistration = "InvalidRegistration"
    /// The registration is unknown or has ended.
    case notRegistered = "NotRegistered"
    /// The registration is of another app than `restricted_package_name`.
    case invalidPackageName = "InvalidPackageName"
    /// The token is of another project, or the project does not have the registration's app any more.
    case mismatchSenderID = "MismatchSenderId"
    /// The finished payload is larger than APNs takes, or the Android part than FCM does.
    case messageTooBig = "MessageTooBig"
    /// `data` has a key that is reserved.
    case invalidDataKey = "InvalidDataKey"
    /// `time_to_live` is no whole number from 0 to four weeks.
    case invalidTimeToLive = "InvalidTtl"
    /// Too much is waiting for a message to a topic or a condition.
    case topicsMessageRateExceeded = "TopicsMessageRateExceeded"
    /// Nothing was kept: too much is waiting, the store takes no writes, or the gateway is stopping.
    case unavailable = "Unavailable"
    /// An error of the gateway; nothing was kept.
    case internalServerError = "InternalServerError"

    /// Whether sending the same again later may help.
    var isTemporary: Bool { self == .unavailable || self == .topicsMessageRateExceeded }
}

extension FCMError {
    /// The legacy API's answer to a wrong name or type: for the whole call, before anything was kept.
    static func invalidParameters(_ error: FCMError) -> FCMError {
        guard error.code.httpStatus == 400 else { return error }
        return FCMError(.badRequest, "InvalidParameters: \(error.message)")
    }
}

extension LegacyError {
    /// What Google says to a token that is not known here.
    init(relayed error: FCMError) {
        switch error.code {
        case .unregistered: self = .notRegistered
        case .senderIDMismatch: self = .mismatchSenderID
        case .unavailable, .quotaExceeded: self = .unavailable
        case .invalidArgument where error.reason == .deviceTokenRefused: self = .invalidRegistration
        case .invalidArgument where error.reason == .payloadTooLarge: self = .messageTooBig
        default: self = .internalServerError
        }
    }

    /// Why the acceptor does not take a message to one registration or group.
    ///
    /// Nearly all that can be wrong with a message was looked at when it was decoded: what only its finished bytes show is
    /// their size.
    init(_ refusal: SubmissionRefusal) {
        switch refusal {
        case .invalid: self = .messageTooBig
        case .conflict: self = .internalServerError
        case .full, .diskLow, .stopping, .store: self = .unavailable
        }
    }
}
