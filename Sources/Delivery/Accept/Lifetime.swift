import PushModel

/// How long a message is worth delivering.
struct Lifetime: Hashable {
    /// After this no attempt is started.
    let expiresAt: Timestamp
    /// Seconds from accept to expiry, as sent; 0 for a message that APNs tries once.
    let timeToLiveSeconds: Int64

    /// How long the gateway itself tries to hand a message to APNs that APNs is to try once.
    static let onceGraceSeconds: Int64 = 30
    /// FCM's default time to live: four weeks.
    static let defaultSeconds: Int64 = 28 * 24 * 60 * 60

    /// Reads the lifetime of a message that is accepted now.
    init(of content: MessageContent, acceptedAt: Timestamp) {
        switch content.apns.headers.expiration {
        case .once:
            expiresAt = acceptedAt + .seconds(Self.onceGraceSeconds)
            timeToLiveSeconds = 0
        case .until(let time):
            expiresAt = time
            timeToLiveSeconds = max(0, (time - acceptedAt).components.seconds)
        case nil:
            expiresAt = acceptedAt + .seconds(Self.defaultSeconds)
            timeToLiveSeconds = Self.defaultSeconds
        }
    }
}
