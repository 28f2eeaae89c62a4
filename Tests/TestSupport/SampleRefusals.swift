package import PushModel

/// Refusals as the table of a push service makes them of its answers.
extension Refusal {
    /// The address is refused: many of these say that a configuration is wrong.
    package static let badDeviceToken = Refusal("BadDeviceToken", .addressDoubtful)
    /// The address belongs to another app.
    package static let deviceTokenNotForTopic = Refusal("DeviceTokenNotForTopic", .push(.address))
    /// The payload is too large.
    package static let payloadTooLarge = Refusal("PayloadTooLarge", .push(.payloadSize))
    /// The topic is refused.
    package static let badTopic = Refusal("BadTopic", .topic)
    /// The topic is refused.
    package static let topicDisallowed = Refusal("TopicDisallowed", .topic)
    /// The credential is refused.
    package static let forbidden = Refusal("Forbidden", .credential)
    /// The credential is refused.
    package static let badCertificate = Refusal("BadCertificate", .credential)
    /// The credential is refused.
    package static let missingProviderToken = Refusal("MissingProviderToken", .credential)
    /// The credential is refused.
    package static let badEnvironmentKeyIDInToken = Refusal("BadEnvironmentKeyIdInToken", .credential)
    /// The credential is refused on this connection.
    package static let invalidProviderToken = Refusal("InvalidProviderToken", .connection(.credential))
    /// The credential is refused on this connection.
    package static let unrelatedKeyIDInToken = Refusal("UnrelatedKeyIdInToken", .connection(.credential))
    /// The token is too old.
    package static let expiredProviderToken = Refusal("ExpiredProviderToken", .connection(.tokenExpired))
    /// Tokens followed each other too fast.
    package static let tooManyProviderTokenUpdates = Refusal(
        "TooManyProviderTokenUpdates", .connection(.tokenUpdates))
    /// The connection was idle.
    package static let idleTimeout = Refusal("IdleTimeout", .connection(.idle))
    /// The server is shutting down.
    package static let shutdown = Refusal("Shutdown", .connection(.closing))
    /// One address gets too many pushes.
    package static let tooManyRequests = Refusal("TooManyRequests", .load(.address))
    /// The service is overloaded.
    package static let serviceUnavailable = Refusal("ServiceUnavailable", .load(.service))
    /// The service fails.
    package static let internalServerError = Refusal("InternalServerError", .load(.failure))
    /// The install is gone.
    package static let unregistered = unregistered(since: nil)
    /// The device token expired.
    package static let expiredToken = expiredToken(since: nil)

    /// The install is gone, as the service saw at this time.
    package static func unregistered(since: Timestamp?) -> Refusal {
        Refusal("Unregistered", .addressDead(since: since))
    }

    /// The device token expired, as the service saw at this time.
    package static func expiredToken(since: Timestamp?) -> Refusal {
        Refusal("ExpiredToken", .addressDead(since: since))
    }

    /// The collapse id is too long.
    package static let badCollapseID = Refusal("BadCollapseId", .push(.header("apns-collapse-id")))
    /// The priority is wrong.
    package static let badPriority = Refusal("BadPriority", .push(.header("apns-priority")))
    /// There is no payload.
    package static let payloadEmpty = Refusal("PayloadEmpty", .push(.payload))
    /// A header was repeated.
    package static let duplicateHeaders = Refusal("DuplicateHeaders", .push(.unspecified))
    /// The path is wrong.
    package static let badPath = Refusal("BadPath", .push(.request))
    /// Another spelling of ``badEnvironmentKeyIDInToken``.
    package static let badEnvironmentKeyInToken = Refusal(
        "BadEnvironmentKeyInToken", .credential, label: "BadEnvironmentKeyIdInToken")

    /// All of them.
    package static let samples: [Refusal] = [
        .badDeviceToken, .deviceTokenNotForTopic, .payloadTooLarge, .badTopic, .topicDisallowed, .forbidden,
        .badCertificate, .missingProviderToken, .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken,
        .invalidProviderToken, .unrelatedKeyIDInToken, .expiredProviderToken, .tooManyProviderTokenUpdates,
        .idleTimeout, .shutdown, .tooManyRequests, .serviceUnavailable, .internalServerError, .unregistered,
        .expiredToken, .badCollapseID, .badPriority, .payloadEmpty, .duplicateHeaders, .badPath,
    ]

    /// A reason that no table has, as an answer of 400 gives it.
    package static func new(_ reason: Reason = "SomethingNew") -> Refusal {
        Refusal(reason, .push(.unspecified), label: unknownLabel)
    }
}

extension RefusalCatalog {
    /// The samples by their words.
    package static let sample = RefusalCatalog(
        Refusal.samples.map { Entry($0, meaning: "\($0.reason) means this.") })
}

extension Outcome {
    /// The word that the ledger has for it; `nil` when accepted.
    package var word: String? {
        switch self {
        case .accepted: nil
        case .rejected(let refusal), .throttled(let refusal, _): refusal.reason.rawValue
        case .notSent(let cause), .unknown(let cause): cause.rawValue
        }
    }
}
