import PushModel

/// The reasons that APNs documents or was seen to answer (apns.md §5).
extension Reason {
    /// The collapse id has more than 64 bytes.
    static let badCollapseID: Reason = "BadCollapseId"
    /// The device token is malformed or of the other environment.
    static let badDeviceToken: Reason = "BadDeviceToken"
    /// `apns-expiration` is wrong.
    static let badExpirationDate: Reason = "BadExpirationDate"
    /// `apns-id` is wrong.
    static let badMessageID: Reason = "BadMessageId"
    /// `apns-priority` is wrong.
    static let badPriority: Reason = "BadPriority"
    /// `apns-push-type` is wrong.
    static let invalidPushType: Reason = "InvalidPushType"
    /// A header was repeated.
    static let duplicateHeaders: Reason = "DuplicateHeaders"
    /// There was no payload.
    static let payloadEmpty: Reason = "PayloadEmpty"
    /// There was no device token.
    static let missingDeviceToken: Reason = "MissingDeviceToken"
    /// `apns-topic` is wrong.
    static let badTopic: Reason = "BadTopic"
    /// There was no `apns-topic`.
    static let missingTopic: Reason = "MissingTopic"
    /// The credential may not push to the topic.
    static let topicDisallowed: Reason = "TopicDisallowed"
    /// The device token belongs to another app.
    static let deviceTokenNotForTopic: Reason = "DeviceTokenNotForTopic"
    /// There was no `apns-channel-id`.
    static let missingChannelID: Reason = "MissingChannelId"
    /// `apns-channel-id` is wrong.
    static let badChannelID: Reason = "BadChannelId"
    /// There is no such channel.
    static let channelNotRegistered: Reason = "ChannelNotRegistered"
    /// A parameter of the request is wrong.
    static let badRequestParams: Reason = "BadRequestParams"
    /// The body of the request is wrong.
    static let badRequestPayload: Reason = "BadRequestPayload"
    /// There was no `apns-push-type`.
    static let missingPushType: Reason = "MissingPushType"
    /// The app has no broadcast capability.
    static let featureNotEnabled: Reason = "FeatureNotEnabled"
    /// There are as many channels as there may be.
    static let cannotCreateChannelConfig: Reason = "CannotCreateChannelConfig"
    /// The credential is for another app.
    static let topicMismatch: Reason = "TopicMismatch"
    /// The connection was idle too long.
    static let idleTimeout: Reason = "IdleTimeout"
    /// The client certificate is invalid.
    static let badCertificate: Reason = "BadCertificate"
    /// The client certificate is for the other environment.
    static let badCertificateEnvironment: Reason = "BadCertificateEnvironment"
    /// The credential lacks a permission.
    static let forbidden: Reason = "Forbidden"
    /// The provider token is older than an hour.
    static let expiredProviderToken: Reason = "ExpiredProviderToken"
    /// The provider token is wrong or its key revoked.
    static let invalidProviderToken: Reason = "InvalidProviderToken"
    /// There was no provider token.
    static let missingProviderToken: Reason = "MissingProviderToken"
    /// The connection already belongs to another key.
    static let unrelatedKeyIDInToken: Reason = "UnrelatedKeyIdInToken"
    /// The key is for the other environment.
    static let badEnvironmentKeyIDInToken: Reason = "BadEnvironmentKeyIdInToken"
    /// The path is wrong.
    static let badPath: Reason = "BadPath"
    /// The method is wrong.
    static let methodNotAllowed: Reason = "MethodNotAllowed"
    /// The app is gone from the device.
    static let unregistered: Reason = "Unregistered"
    /// The device token expired.
    static let expiredToken: Reason = "ExpiredToken"
    /// The payload is over the limit.
    static let payloadTooLarge: Reason = "PayloadTooLarge"
    /// The provider token was renewed too often.
    static let tooManyProviderTokenUpdates: Reason = "TooManyProviderTokenUpdates"
    /// One device got too many pushes.
    static let tooManyRequests: Reason = "TooManyRequests"
    /// APNs failed.
    static let internalServerError: Reason = "InternalServerError"
    /// APNs is overloaded or down.
    static let serviceUnavailable: Reason = "ServiceUnavailable"
    /// The server at the other end is going away.
    static let shutdown: Reason = "Shutdown"
}
