import PushModel

/// How long a message is worth delivering.
struct Lifetime: Hashable {
    /// After this no attempt is started.
    let expiresAt: Timestamp
    /// Seconds from accept to expiry, as sent; 0 for a message that APNs tries once.
    let timeToLiveSeconds: Int64

    /// How long the gateway itself tries to hand a message to APNs that APNs is to try once.
    static let onceGrace: Duration = .seconds(30)

    /// Reads the lifetime of a message that is accepted now.
    init(of content: any MessageContent, acceptedAt: Timestamp) {
        let timeToLive = content.timeToLive(acceptedAt: acceptedAt)
        timeToLiveSeconds = timeToLive.seconds
        switch timeToLive {
        case .once: expiresAt = acceptedAt + Self.onceGrace
        case .lasting(let duration): expiresAt = acceptedAt + duration
        }
    }
}
