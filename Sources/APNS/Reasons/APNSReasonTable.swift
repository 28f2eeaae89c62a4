package import PushModel

/// Every reason that APNs documents or was seen to answer (apns.md §5), with what it means and what it is about: the one
/// place that says so.
package enum APNSReasonTable {
    /// One reason.
    struct Row: Sendable {
        /// Apple's spelling; the metric label.
        let reason: Reason
        /// Other spellings seen on the wire or in Apple's pages.
        let otherSpellings: [Reason]
        /// The HTTP status it comes with.
        let status: Int
        /// What it means, a sentence for operators.
        let meaning: String
        /// What it is about.
        let scope: Refusal.Scope

        /// The refusal in each spelling.
        var refusals: [Refusal] {
            ([reason] + otherSpellings).map { Refusal($0, scope, label: reason.rawValue) }
        }
    }

    /// The table, in the order of the statuses.
    static let rows: [Row] = [
        row(400, .badCollapseID, .push(.header("apns-collapse-id")), "The collapse id has more than 64 bytes."),
        // The address is doubtful, not dead: a whole user base looks like this when the environment is configured wrongly.
        row(
            400, .badDeviceToken, .addressDoubtful,
            "The device token is malformed or belongs to the other APNs environment."),
        row(400, .badExpirationDate, .push(.header("apns-expiration")), "The apns-expiration header is wrong."),
        row(400, .badMessageID, .push(.header("apns-id")), "The apns-id header is not a UUID."),
        row(400, .badPriority, .push(.header("apns-priority")), "The apns-priority header is wrong for this push."),
        row(400, .invalidPushType, .push(.header("apns-push-type")), "The apns-push-type header is unknown."),
        row(400, .duplicateHeaders, .push(.unspecified), "A header was sent twice."),
        row(400, .payloadEmpty, .push(.payload), "The payload is empty."),
        row(400, .missingDeviceToken, .push(.address), "The path has no device token."),
        row(400, .badTopic, .topic, "The apns-topic header is wrong."),
        row(400, .missingTopic, .topic, "The apns-topic header is missing."),
        row(400, .topicDisallowed, .topic, "The credential may not push to this topic."),
        row(400, .deviceTokenNotForTopic, .push(.address), "The device token belongs to another app."),
        // About broadcast channels. The channel is an address as a device token is.
        row(400, .missingChannelID, .push(.request), "The request names no channel."),
        row(400, .badChannelID, .addressDead(since: nil), "The channel id is malformed."),
        row(
            400, .channelNotRegistered, .addressDead(since: nil),
            "APNs has no such channel: it was deleted, or belongs to the other environment."),
        row(400, .badRequestParams, .push(.request), "The request's parameters are wrong."),
        row(400, .badRequestPayload, .push(.payload), "The request's body is wrong."),
        row(400, .missingPushType, .push(.header("apns-push-type")), "The apns-push-type header is missing."),
        row(
            400, .featureNotEnabled, .topic,
            "The app has no broadcast capability: switch it on in the developer portal."),
        row(
            400, .cannotCreateChannelConfig, .load(.unspecified),
            "The app has as many channels as it may have in this environment: delete some."),
        row(400, .idleTimeout, .connection(.idle), "The connection was idle for too long."),
        row(403, .badCertificate, .credential, "The client certificate is invalid."),
        row(403, .badCertificateEnvironment, .credential, "The client certificate is for the other environment."),
        row(403, .forbidden, .credential, "The credential lacks a permission."),
        row(
            403, .expiredProviderToken, .connection(.tokenExpired),
            "The provider token is more than an hour old, by APNs' clock."),
        row(
            403, .invalidProviderToken, .connection(.credential),
            "The provider token is wrong: key id, team, topic or signature, or the key was revoked."),
        row(403, .missingProviderToken, .credential, "The request carried no provider token."),
        row(
            403, .unrelatedKeyIDInToken, .connection(.credential), "The connection already belongs to another key."),
        row(
            403, .badEnvironmentKeyIDInToken, .credential, "The key is not for this APNs environment.",
            alsoSpelled: ["BadEnvironmentKeyInToken"]),
        row(403, .topicMismatch, .topic, "The credential is not for this app."),
        row(404, .badPath, .push(.request), "The request path is wrong."),
        row(405, .methodNotAllowed, .push(.request), "The request method is not POST."),
        row(
            410, .unregistered, .addressDead(since: nil), "The app is gone from the device or its token is inactive."),
        row(410, .expiredToken, .addressDead(since: nil), "The device token has expired."),
        row(413, .payloadTooLarge, .push(.payloadSize), "The payload is larger than APNs takes."),
        // No new token: another new one is what APNs complains of.
        row(
            429, .tooManyProviderTokenUpdates, .connection(.tokenUpdates),
            "The provider token was renewed twice within 20 minutes on one connection."),
        row(429, .tooManyRequests, .load(.address), "Too many pushes went to this one device."),
        row(500, .internalServerError, .load(.failure), "APNs failed."),
        row(
            503, .serviceUnavailable, .load(.service), "APNs is overloaded or down.",
            alsoSpelled: ["Service Unavailable"]),
        row(503, .shutdown, .connection(.closing), "The APNs server is shutting down."),
    ]

    /// The table's reasons by their words.
    package static let catalog = RefusalCatalog(
        rows.flatMap { row in row.refusals.map { RefusalCatalog.Entry($0, meaning: row.meaning) } })

    private static func row(
        _ status: Int, _ reason: Reason, _ scope: Refusal.Scope, _ meaning: String, alsoSpelled: [Reason] = []
    ) -> Row {
        Row(reason: reason, otherSpellings: alsoSpelled, status: status, meaning: meaning, scope: scope)
    }
}
