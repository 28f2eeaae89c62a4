/// Why APNs refused a push: the `reason` of its answer, or the closest name when it gave none.
///
/// Reasons that are not in the table survive as they came; they are classified by their HTTP status.
package struct APNSReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// Apple's spelling.
    package let rawValue: String

    /// Takes a reason as APNs wrote it.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Apple's spelling.
    package var description: String { rawValue }

    /// The value of the label `reason` in metrics: Apple's spelling for the reasons in the table, `other` for the
    /// rest, so that labels stay few whatever a peer answers.
    package var metricLabel: String {
        APNSReasonTable.row(of: self)?.reason.rawValue ?? "other"
    }
}

extension APNSReason {
    /// The collapse id has more than 64 bytes.
    package static let badCollapseID = APNSReason(rawValue: "BadCollapseId")
    /// The device token is malformed or of the other environment.
    package static let badDeviceToken = APNSReason(rawValue: "BadDeviceToken")
    /// `apns-expiration` is wrong.
    package static let badExpirationDate = APNSReason(rawValue: "BadExpirationDate")
    /// `apns-id` is wrong.
    package static let badMessageID = APNSReason(rawValue: "BadMessageId")
    /// `apns-priority` is wrong.
    package static let badPriority = APNSReason(rawValue: "BadPriority")
    /// `apns-push-type` is wrong.
    package static let invalidPushType = APNSReason(rawValue: "InvalidPushType")
    /// A header was repeated.
    package static let duplicateHeaders = APNSReason(rawValue: "DuplicateHeaders")
    /// There was no payload.
    package static let payloadEmpty = APNSReason(rawValue: "PayloadEmpty")
    /// There was no device token.
    package static let missingDeviceToken = APNSReason(rawValue: "MissingDeviceToken")
    /// `apns-topic` is wrong.
    package static let badTopic = APNSReason(rawValue: "BadTopic")
    /// There was no `apns-topic`.
    package static let missingTopic = APNSReason(rawValue: "MissingTopic")
    /// The credential may not push to the topic.
    package static let topicDisallowed = APNSReason(rawValue: "TopicDisallowed")
    /// The device token belongs to another app.
    package static let deviceTokenNotForTopic = APNSReason(rawValue: "DeviceTokenNotForTopic")
    /// The connection was idle too long.
    package static let idleTimeout = APNSReason(rawValue: "IdleTimeout")
    /// The client certificate is invalid.
    package static let badCertificate = APNSReason(rawValue: "BadCertificate")
    /// The client certificate is for the other environment.
    package static let badCertificateEnvironment = APNSReason(rawValue: "BadCertificateEnvironment")
    /// The credential lacks a permission.
    package static let forbidden = APNSReason(rawValue: "Forbidden")
    /// The provider token is older than an hour.
    package static let expiredProviderToken = APNSReason(rawValue: "ExpiredProviderToken")
    /// The provider token is wrong or its key revoked.
    package static let invalidProviderToken = APNSReason(rawValue: "InvalidProviderToken")
    /// There was no provider token.
    package static let missingProviderToken = APNSReason(rawValue: "MissingProviderToken")
    /// The connection already belongs to another key.
    package static let unrelatedKeyIDInToken = APNSReason(rawValue: "UnrelatedKeyIdInToken")
    /// The key is for the other environment.
    package static let badEnvironmentKeyIDInToken = APNSReason(rawValue: "BadEnvironmentKeyIdInToken")
    /// The path is wrong.
    package static let badPath = APNSReason(rawValue: "BadPath")
    /// The method is wrong.
    package static let methodNotAllowed = APNSReason(rawValue: "MethodNotAllowed")
    /// The app is gone from the device.
    package static let unregistered = APNSReason(rawValue: "Unregistered")
    /// The device token expired.
    package static let expiredToken = APNSReason(rawValue: "ExpiredToken")
    /// The payload is over the limit.
    package static let payloadTooLarge = APNSReason(rawValue: "PayloadTooLarge")
    /// The provider token was renewed too often.
    package static let tooManyProviderTokenUpdates = APNSReason(rawValue: "TooManyProviderTokenUpdates")
    /// One device got too many pushes.
    package static let tooManyRequests = APNSReason(rawValue: "TooManyRequests")
    /// APNs failed.
    package static let internalServerError = APNSReason(rawValue: "InternalServerError")
    /// APNs is overloaded or down.
    package static let serviceUnavailable = APNSReason(rawValue: "ServiceUnavailable")
    /// The server at the other end is going away.
    package static let shutdown = APNSReason(rawValue: "Shutdown")
}
