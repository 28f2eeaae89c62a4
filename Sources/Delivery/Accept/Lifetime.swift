import PushModel
import Store

/// How long a message is worth delivering on one platform.
struct Lifetime: Hashable {
    /// After this no attempt is started.
    let expiresAt: Timestamp
    /// Seconds from accept to expiry, as sent; 0 for a message that is tried once.
    let timeToLiveSeconds: Int64
    /// Whether its push service is to try it once.
    let isOnce: Bool

    /// How long the gateway itself tries to hand a message to a push service that is to try it once.
    static let onceGrace: Duration = .seconds(30)

    /// The longest life of a publication to a broadcast channel: no push service keeps one longer.
    static let broadcastLimit: Duration = .seconds(8 * 3600)

    /// Reads the lifetime of a message that was accepted then.
    init(
        of content: any MessageContent, on platform: Platform, acceptedAt: Timestamp, isBroadcast: Bool = false
    ) {
        var timeToLive = content.timeToLive(acceptedAt: acceptedAt, on: platform)
        if isBroadcast, case .lasting(let duration) = timeToLive {
            timeToLive = .lasting(min(duration, Self.broadcastLimit))
        }
        timeToLiveSeconds = timeToLive.seconds
        isOnce = timeToLive == .once
        switch timeToLive {
        case .once: expiresAt = acceptedAt + Self.onceGrace
        case .lasting(let duration): expiresAt = acceptedAt + duration
        }
    }
}

extension Message {
    /// When the message's life on a platform ends, and whether its push service is to try it once. The message itself lives
    /// on while it does on another platform.
    func expiry(of content: any MessageContent, on platform: Platform) -> (time: Timestamp, isOnce: Bool) {
        let life = Lifetime(of: content, on: platform, acceptedAt: acceptedAt)
        return (min(life.expiresAt, expiresAt), life.isOnce)
    }
}
