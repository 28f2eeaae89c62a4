import PushModel

/// Reasons in the ledger that are ours and not Apple's.
enum EndReason {
    /// The address was refused, in the other environment too where there is one.
    static let addressRefused = "BadDeviceToken"
    /// Time ran out and no attempt was ever made.
    static let expired = "Expired"
    /// The message was cancelled: the store's own word.
    static let cancelled = "Cancelled"
    /// The registration ended after accept; Apple's word for the same thing.
    static let unregistered = "Unregistered"
    /// The message broke a limit when it was built again, after a change of the app's configuration.
    static let invalidMessage = "InvalidMessage"
    /// The app is of a platform that has no upstream.
    static let platformNotServed = "PlatformNotServed"
    /// The store knows the delivery and not its message.
    static let messageMissing = "MessageMissing"
}

extension TransportCause {
    /// The store could not read the message. It never was an attempt.
    static let messageUnreadable = TransportCause(rawValue: "message_unreadable")
}

/// Bounds of retries that do not depend on the outcome.
enum RetryBounds {
    /// How long before its expiry a delivery's last attempt has to start.
    static let lastAttemptMilliseconds: Int64 = 1000
    /// No back-off is longer: an upstream may ask for an hour, and chance adds a quarter. What waits longer was given its
    /// time by a clock that was wrong.
    static let longestWait: Duration = .seconds(2 * 3600)
    /// How long the other environment is tried.
    static let probeLimit: Duration = .seconds(600)
}
