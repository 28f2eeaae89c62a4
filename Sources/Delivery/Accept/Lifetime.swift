import PushModel

/// How long a message is worth delivering.
struct Lifetime: Hashable {
    /// After this no attempt is started.
    let expiresAt: Timestamp
    /// Seconds from accept to expiry, as sent; 0 for a message that APNs tries once.
    let timeToLiveSeconds: Int64

    /// How long the gateway itself tries to hand a message to APNs that APNs is to try once.
    static let onceGrace: Duration = .seconds(30)

    /// The longest life of a publication to a broadcast channel: no push service keeps one longer.
    static let broadcastLimit: Duration = .seconds(8 * 3600)

    /// Reads the lifetime of a message that is accepted now.
    init(of content: any MessageContent, acceptedAt: Timestamp, isBroadcast: Bool = false) {
        var timeToLive = content.timeToLive(acceptedAt: acceptedAt)
        if isBroadcast, case .lasting(let duration) = timeToLive {
            timeToLive = .lasting(min(duration, Self.broadcastLimit))
        }
        timeToLiveSeconds = timeToLive.seconds
        switch timeToLive {
        case .once: expiresAt = acceptedAt + Self.onceGrace
        case .lasting(let duration): expiresAt = acceptedAt + duration
        }
    }
}
