import PushModel

/// Google's error codes (fcm-relay.md §4), and Herald's words where one code means several things.
extension Reason {
    /// 404: the app is not installed any more, or it has another token.
    static let unregistered: Reason = "UNREGISTERED"
    /// 400: the token is none. Herald's word.
    static let invalidToken: Reason = "INVALID_TOKEN"
    /// 400: the message is wrong.
    static let invalidArgument: Reason = "INVALID_ARGUMENT"
    /// 413: the request is too large.
    static let tooLarge: Reason = "REQUEST_TOO_LARGE"
    /// 403: the token is of another Firebase project.
    static let senderMismatch: Reason = "SENDER_ID_MISMATCH"
    /// 401: what Google holds for Apple's or a browser's push service is wrong.
    static let thirdParty: Reason = "THIRD_PARTY_AUTH_ERROR"
    /// 401: the access token is not taken.
    static let unauthenticated: Reason = "UNAUTHENTICATED"
    /// 403: the service account may not send.
    static let permissionDenied: Reason = "PERMISSION_DENIED"
    /// 404 without an error code: there is no such project, or no FCM at this address.
    static let notFound: Reason = "NOT_FOUND"
    /// 429: the project sends too much.
    static let quotaExceeded: Reason = "QUOTA_EXCEEDED"
    /// 429: the device gets too much. Herald's word.
    static let deviceQuotaExceeded: Reason = "DEVICE_QUOTA_EXCEEDED"
    /// 429: a topic of Google's gets too much. Herald's word.
    static let topicQuotaExceeded: Reason = "TOPIC_QUOTA_EXCEEDED"
    /// 500: Google failed at this message.
    static let internalError: Reason = "INTERNAL"
    /// 503 and other 5xx: Google is overloaded or down.
    static let unavailable: Reason = "UNAVAILABLE"
    /// Refused here: the time to live that the sender gave is over. Herald's word.
    static let timeToLiveOver: Reason = "TIME_TO_LIVE_OVER"
    /// The account is refused an access token. Herald's word.
    static let tokenRefused: Reason = "ACCESS_TOKEN_REFUSED"
    /// The account is refused an access token because the clocks differ. Herald's word.
    static let clockSkew: Reason = "CLOCK_SKEW"
    /// Where access tokens are given does not answer. Herald's word.
    static let tokenUnavailable: Reason = "ACCESS_TOKEN_UNAVAILABLE"
}
