/// Why a simulated push service refuses a push; each service says it in its own words (``PushServiceDialect``).
struct PushServiceRefusal: Error, Equatable {
    /// What is wrong.
    enum Cause: Equatable {
        /// The method is not POST.
        case method
        /// There is no such subscription.
        case unknownSubscription
        /// The subscription has ended.
        case endedSubscription
        /// `TTL` is missing.
        case missingTimeToLive
        /// `TTL` is no number, or one that the service does not take.
        case timeToLive
        /// `Urgency`.
        case urgency
        /// `Topic`.
        case topic
        /// The body's encoding, or a field about it.
        case encoding
        /// The body is too large.
        case size
        /// The sender's token.
        case token
        /// The token is of another key than the subscription.
        case otherKey
        /// The sender pushes too much.
        case senderQuota
        /// The subscription gets too much.
        case subscriptionQuota
        /// The service is down.
        case unavailable
    }

    let cause: Cause
    /// In words.
    let text: String

    init(_ cause: Cause, _ text: String) {
        self.cause = cause
        self.text = text
    }
}
