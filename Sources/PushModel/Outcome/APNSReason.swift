/// Why APNs refused a push: the `reason` of its answer, or the closest name when it gave none.
///
/// Reasons that are not in the table survive as they came; they are classified by their HTTP status.
public struct APNSReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Apple's spelling.
    public let rawValue: String

    /// Takes a reason as APNs wrote it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Apple's spelling.
    public var description: String { rawValue }

    /// The value of the label `reason` in metrics: Apple's spelling for the reasons in the table, `other` for the
    /// rest, so that labels stay few whatever a peer answers.
    public var metricLabel: String {
        APNSReasonTable.row(of: self)?.reason.rawValue ?? "other"
    }
}

extension APNSReason {
    /// The collapse id has more than 64 bytes.
    public static let badCollapseID = APNSReason(rawValue: "BadCollapseId")
    /// The device token is malformed or of the other environment.
    public static let badDeviceToken = APNSReason(rawValue: "BadDeviceToken")
    /// `apns-expiration` is wrong.
    public static let badExpirationDate = APNSReason(rawValue: "BadExpirationDate")
    /// `apns-id` is wrong.
    public static let badMessageID = APNSReason(rawValue: "BadMessageId")
    /// `apns-priority` is wrong.
    public static let badPriority = APNSReason(rawValue: "BadPriority")
    /// `apns-push-type` is wrong.
    public static let invalidPushType = APNSReason(rawValue: "InvalidPushType")
    /// A header was repeated.
    public static let duplicateHeaders = APNSReason(rawValue: "DuplicateHeaders")
    /// There was no payload.
    public static let payloadEmpty = APNSReason(rawValue: "PayloadEmpty")
    /// There was no device token.
    public static let missingDeviceToken = APNSReason(rawValue: "MissingDeviceToken")
    /// `apns-topic` is wrong.
    public static let badTopic = APNSReason(rawValue: "BadTopic")
    /// There was no `apns-topic`.
    public static let missingTopic = APNSReason(rawValue: "MissingTopic")
    /// The credential may not push to the topic.
    public static let topicDisallowed = APNSReason(rawValue: "TopicDisallowed")
    /// The device token belongs to another app.
    public static let deviceTokenNotForTopic = APNSReason(rawValue: "DeviceTokenNotForTopic")
    /// The connection was idle too long.
    public static let idleTimeout = APNSReason(rawValue: "IdleTimeout")
    /// The client certificate is invalid.
    public static let badCertificate = APNSReason(rawValue: "BadCertificate")
    /// The client certificate is for the other environment.
    public static let badCertificateEnvironment = APNSReason(rawValue: "BadCertificateEnvironment")
    /// The credential lacks a permission.
    public static let forbidden = APNSReason(rawValue: "Forbidden")
    /// The provider token is older than an hour.
    public static let expiredProviderToken = APNSReason(rawValue: "ExpiredProviderToken")
    /// The provider token is wrong or its key revoked.
    public static let invalidProviderToken = APNSReason(rawValue: "InvalidProviderToken")
    /// There was no provider token.
    public static let missingProviderToken = APNSReason(rawValue: "MissingProviderToken")
    /// The connection already belongs to another key.
    public static let unrelatedKeyIDInToken = APNSReason(rawValue: "UnrelatedKeyIdInToken")
    /// The key is for the other environment.
    public static let badEnvironmentKeyIDInToken = APNSReason(rawValue: "BadEnvironmentKeyIdInToken")
    /// The path is wrong.
    public static let badPath = APNSReason(rawValue: "BadPath")
    /// The method is wrong.
    public static let methodNotAllowed = APNSReason(rawValue: "MethodNotAllowed")
    /// The app is gone from the device.
    public static let unregistered = APNSReason(rawValue: "Unregistered")
    /// The device token expired.
    public static let expiredToken = APNSReason(rawValue: "ExpiredToken")
    /// The payload is over the limit.
    public static let payloadTooLarge = APNSReason(rawValue: "PayloadTooLarge")
    /// The provider token was renewed too often.
    public static let tooManyProviderTokenUpdates = APNSReason(rawValue: "TooManyProviderTokenUpdates")
    /// One device got too many pushes.
    public static let tooManyRequests = APNSReason(rawValue: "TooManyRequests")
    /// APNs failed.
    public static let internalServerError = APNSReason(rawValue: "InternalServerError")
    /// APNs is overloaded or down.
    public static let serviceUnavailable = APNSReason(rawValue: "ServiceUnavailable")
    /// The server at the other end is going away.
    public static let shutdown = APNSReason(rawValue: "Shutdown")
}
