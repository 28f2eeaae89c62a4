/// How long a message is worth delivering, from accept on.
package enum TimeToLive: Hashable, Sendable {
    /// Now or never: one attempt, nothing stored.
    case once
    /// That long.
    case lasting(Duration)

    /// What a sender gets who says nothing: FCM's 30 days for Apple's devices, as long as APNs stores a push.
    package static let standard = TimeToLive.lasting(limit)

    /// Longer lives end here: APNs stores no push longer than 30 days.
    package static let limit: Duration = .seconds(30 * 86_400)

    /// Whole seconds, 0 for ``once``.
    package var seconds: Int64 {
        switch self {
        case .once: 0
        case .lasting(let duration): duration.components.seconds
        }
    }
}

extension MessageContent {
    /// The time to live that the sender asked for with `apns-expiration`, counted from `time`.
    ///
    /// `0` and times that have passed mean ``TimeToLive/once``, as at APNs. A push type with a default of its own
    /// (Push to Talk: once) has it when the sender asked for nothing.
    package func timeToLive(acceptedAt time: Timestamp) -> TimeToLive {
        switch apns.headers.expiration ?? apns.headers.namedPushType?.defaultExpiration {
        case nil: .standard
        case .once: .once
        case .until(let end): end > time ? .lasting(min(end - time, TimeToLive.limit)) : .once
        }
    }
}
