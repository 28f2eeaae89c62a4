/// Apple's status and reason for a request that is wrong (Apple, "Handling notification responses from APNs").
struct Refusal: Error, Hashable {
    var status: Int
    var reason: String

    init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    static let badCollapseID = Refusal(400, "BadCollapseId")
    static let badDeviceToken = Refusal(400, "BadDeviceToken")
    static let badExpirationDate = Refusal(400, "BadExpirationDate")
    static let badMessageID = Refusal(400, "BadMessageId")
    static let badPriority = Refusal(400, "BadPriority")
    static let badTopic = Refusal(400, "BadTopic")
    static let badChannelID = Refusal(400, "BadChannelId")
    static let badRequestPayload = Refusal(400, "BadRequestPayload")
    static let cannotCreateChannelConfig = Refusal(400, "CannotCreateChannelConfig")
    static let channelNotRegistered = Refusal(400, "ChannelNotRegistered")
    static let duplicateHeaders = Refusal(400, "DuplicateHeaders")
    static let featureNotEnabled = Refusal(400, "FeatureNotEnabled")
    static let invalidPushType = Refusal(400, "InvalidPushType")
    static let missingChannelID = Refusal(400, "MissingChannelId")
    static let missingDeviceToken = Refusal(400, "MissingDeviceToken")
    static let missingPushType = Refusal(400, "MissingPushType")
    static let missingTopic = Refusal(400, "MissingTopic")
    static let payloadEmpty = Refusal(400, "PayloadEmpty")
    static let topicDisallowed = Refusal(400, "TopicDisallowed")
    static let badCertificate = Refusal(403, "BadCertificate")
    static let expiredProviderToken = Refusal(403, "ExpiredProviderToken")
    static let invalidProviderToken = Refusal(403, "InvalidProviderToken")
    static let missingProviderToken = Refusal(403, "MissingProviderToken")
    static let topicMismatch = Refusal(403, "TopicMismatch")
    static let unrelatedKeyID = Refusal(403, "UnrelatedKeyIdInToken")
    static let badPath = Refusal(404, "BadPath")
    static let methodNotAllowed = Refusal(405, "MethodNotAllowed")
    static let payloadTooLarge = Refusal(413, "PayloadTooLarge")
    static let tooManyProviderTokenUpdates = Refusal(429, "TooManyProviderTokenUpdates")
}
