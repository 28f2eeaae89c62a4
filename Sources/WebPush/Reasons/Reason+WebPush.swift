import PushModel

/// Herald's words for what push services of browsers answer: they agree on statuses (RFC 8030), not on words.
extension Reason {
    /// 400: the request is wrong.
    static let badRequest: Reason = "BadRequest"
    /// 401: the token is missing or wrong.
    static let unauthorized: Reason = "Unauthorized"
    /// 403: the token is wrong for this service.
    static let forbidden: Reason = "Forbidden"
    /// The subscription was made with another key.
    static let keyMismatch: Reason = "KeyMismatch"
    /// 404: the service does not know the subscription.
    static let subscriptionUnknown: Reason = "SubscriptionUnknown"
    /// 410: the subscription has ended.
    static let subscriptionGone: Reason = "SubscriptionGone"
    /// 413: the body is too large for the service.
    static let payloadTooLarge: Reason = "PayloadTooLarge"
    /// 3xx: the subscription has moved, where nothing is sent to.
    static let moved: Reason = "Moved"
    /// 406 or 429: too many pushes.
    static let tooManyRequests: Reason = "TooManyRequests"
    /// 500: the service failed.
    static let serviceFailed: Reason = "ServiceFailed"
    /// 502, 503 or 504: the service is overloaded or down.
    static let serviceUnavailable: Reason = "ServiceUnavailable"
    /// Refused here: Safari ends the permission of pages whose pushes show nothing.
    static let nothingToShow: Reason = "NothingToShow"
    /// Refused here: the time to live that the sender gave is over.
    static let timeToLiveOver: Reason = "TimeToLiveOver"
    /// Refused here: the endpoint is of no push service that the project allows.
    static let serviceNotAllowed: Reason = "ServiceNotAllowed"
    /// Refused here: it can't be encrypted for the browser's key.
    static let notEncrypted: Reason = "NotEncrypted"
    /// Refused here: the browser subscribed with a key that the app does not have.
    static let keyUnknown: Reason = "KeyUnknown"
}
