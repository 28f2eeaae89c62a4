import Store

/// `event` of an export: FCM's own words where it has one (fcm.md §5.1, §10.21).
enum ExportEvent {
    /// The event of an outcome.
    static func name(of outcome: LedgerOutcome, reason: String?) -> String {
        switch outcome {
        case .accepted: "MESSAGE_ACCEPTED"
        case .expired: "MESSAGE_EXPIRED"
        case .cancelled: "MESSAGE_CANCELLED"
        case .rejected: reason.flatMap { rejections[$0] } ?? "MESSAGE_RECEIVED_INTERNAL_ERROR"
        }
    }

    /// The event of a receipt: a device's word that it has the message is FCM's MESSAGE_DELIVERED.
    static func name(of kind: ReceiptKind) -> String {
        switch kind {
        case .received: "MESSAGE_DELIVERED"
        case .opened: "MESSAGE_OPEN"
        case .impression: "MESSAGE_IMPRESSION"
        case .dismissed: "MESSAGE_DISMISSED"
        }
    }

    /// The push services' reasons in FCM's words: Apple's, then Google's and those of browsers.
    static let rejections: [String: String] = [
        "BadDeviceToken": "INVALID_REGISTRATION",
        "ExpiredToken": "UNAUTHORIZED_REGISTRATION",
        "Unregistered": "UNAUTHORIZED_REGISTRATION",
        "MissingDeviceToken": "MISSING_REGISTRATIONS",
        "BadTopic": "INVALID_PACKAGE_NAME",
        "DeviceTokenNotForTopic": "INVALID_PACKAGE_NAME",
        "MissingTopic": "INVALID_PACKAGE_NAME",
        "TopicDisallowed": "INVALID_PACKAGE_NAME",
        "BadCertificate": "INVALID_APNS_CREDENTIAL",
        "BadCertificateEnvironment": "INVALID_APNS_CREDENTIAL",
        "BadEnvironmentKeyIdInToken": "INVALID_APNS_CREDENTIAL",
        "ExpiredProviderToken": "INVALID_APNS_CREDENTIAL",
        "Forbidden": "INVALID_APNS_CREDENTIAL",
        "InvalidProviderToken": "INVALID_APNS_CREDENTIAL",
        "MissingProviderToken": "INVALID_APNS_CREDENTIAL",
        "UnrelatedKeyIdInToken": "INVALID_APNS_CREDENTIAL",
        "BadCollapseId": "INVALID_PARAMETERS",
        "BadMessageId": "INVALID_PARAMETERS",
        "BadPath": "INVALID_PARAMETERS",
        "BadPriority": "INVALID_PARAMETERS",
        "DuplicateHeaders": "INVALID_PARAMETERS",
        "InvalidPushType": "INVALID_PARAMETERS",
        "MethodNotAllowed": "INVALID_PARAMETERS",
        "PayloadEmpty": "INVALID_PARAMETERS",
        "BadExpirationDate": "INVALID_TTL",
        "PayloadTooLarge": "PAYLOAD_TOO_LARGE",
        "TooManyProviderTokenUpdates": "QUOTA_EXCEEDED",
        "TooManyRequests": "QUOTA_EXCEEDED",
        "UNREGISTERED": "UNAUTHORIZED_REGISTRATION",
        "INVALID_TOKEN": "INVALID_REGISTRATION",
        "SENDER_ID_MISMATCH": "MISMATCH_SENDER_ID",
        "INVALID_ARGUMENT": "INVALID_PARAMETERS",
        "REQUEST_TOO_LARGE": "PAYLOAD_TOO_LARGE",
        "QUOTA_EXCEEDED": "QUOTA_EXCEEDED",
        "DEVICE_QUOTA_EXCEEDED": "QUOTA_EXCEEDED",
        "TOPIC_QUOTA_EXCEEDED": "QUOTA_EXCEEDED",
        "UNAUTHENTICATED": "AUTHENTICATION_ERROR",
        "PERMISSION_DENIED": "AUTHENTICATION_ERROR",
        "NOT_FOUND": "AUTHENTICATION_ERROR",
        "ACCESS_TOKEN_REFUSED": "AUTHENTICATION_ERROR",
        "CLOCK_SKEW": "AUTHENTICATION_ERROR",
        "THIRD_PARTY_AUTH_ERROR": "INVALID_APNS_CREDENTIAL",
        "TIME_TO_LIVE_OVER": "INVALID_TTL",
        "Unauthorized": "AUTHENTICATION_ERROR",
        "SubscriptionGone": "UNAUTHORIZED_REGISTRATION",
        "SubscriptionUnknown": "INVALID_REGISTRATION",
        "KeyMismatch": "MISMATCH_SENDER_ID",
        "KeyUnknown": "MISMATCH_SENDER_ID",
        "NotEncrypted": "INVALID_REGISTRATION",
        "Moved": "INVALID_REGISTRATION",
        "ServiceNotAllowed": "INVALID_REGISTRATION",
        "BadRequest": "INVALID_PARAMETERS",
        "NothingToShow": "INVALID_PARAMETERS",
    ]
}
