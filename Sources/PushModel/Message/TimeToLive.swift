/// How long a message is worth delivering, from accept on.
package enum TimeToLive: Hashable, Sendable {
    /// Now or never: one attempt, nothing stored.
    case once
    /// That long.
    case lasting(Duration)

    /// What a sender gets who says nothing, on Apple's devices: FCM's 30 days, as long as APNs stores a push.
    package static let standard = TimeToLive.lasting(limit)

    /// The same for Android and browsers: FCM's 4 weeks.
    package static let fourWeeks = TimeToLive.lasting(.seconds(28 * 86_400))

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
