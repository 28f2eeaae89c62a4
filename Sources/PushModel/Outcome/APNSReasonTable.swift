/// What to do about a reason. Several may be due at once.
package enum APNSAction: String, Hashable, Sendable, CaseIterable {
    /// End the registration, unless it was refreshed after the time in the answer.
    case dropRegistration
    /// This message fails for this registration; the registration stays.
    case failMessage
    /// Renew the provider token before the next push.
    case renewToken
    /// Try again later on the same connection.
    case backOff
    /// Try again on another connection; where the row also renews the token, this one is closed.
    case otherConnection
    /// Nothing gets through for this key and topic: hold the lane, tell the operator, probe slowly.
    case pauseLane
}

/// Every reason that APNs documents or was seen to answer (apns.md §5), with what it means and what is to be done:
/// the one place that says so.
package enum APNSReasonTable {
    /// One reason.
    package struct Row: Sendable {
        /// Apple's spelling; the metric label.
        package let reason: APNSReason
        /// Other spellings seen on the wire or in Apple's pages.
        package let otherSpellings: [String]
        /// The HTTP status it comes with.
        package let status: Int
        /// What it means, a sentence for operators.
        package let meaning: String
        /// What is to be done.
        package let actions: Set<APNSAction>

        /// Whether the push is refused for good: the message or the registration is at fault, not the way upstream.
        package var isFinal: Bool {
            actions.contains(.failMessage) || actions.contains(.dropRegistration)
        }
    }

    /// The table, in the order of the statuses.
    package static let rows: [Row] = [
        row(400, .badCollapseID, .failMessage, "The collapse id has more than 64 bytes."),
        // Not dropRegistration: a whole user base looks like this when the environment is configured wrongly.
        row(
            400, .badDeviceToken, .failMessage,
            "The device token is malformed or belongs to the other APNs environment."),
        row(400, .badExpirationDate, .failMessage, "The apns-expiration header is wrong."),
        row(400, .badMessageID, .failMessage, "The apns-id header is not a UUID."),
        row(400, .badPriority, .failMessage, "The apns-priority header is wrong for this push."),
        row(400, .invalidPushType, .failMessage, "The apns-push-type header is unknown."),
        row(400, .duplicateHeaders, .failMessage, "A header was sent twice."),
        row(400, .payloadEmpty, .failMessage, "The payload is empty."),
        row(400, .missingDeviceToken, .failMessage, "The path has no device token."),
        row(400, .badTopic, [.failMessage, .pauseLane], "The apns-topic header is wrong."),
        row(400, .missingTopic, [.failMessage, .pauseLane], "The apns-topic header is missing."),
        row(400, .topicDisallowed, [.failMessage, .pauseLane], "The credential may not push to this topic."),
        row(400, .deviceTokenNotForTopic, .failMessage, "The device token belongs to another app."),
        row(400, .idleTimeout, .otherConnection, "The connection was idle for too long."),
        row(403, .badCertificate, .pauseLane, "The client certificate is invalid."),
        row(403, .badCertificateEnvironment, .pauseLane, "The client certificate is for the other environment."),
        row(403, .forbidden, .pauseLane, "The credential lacks a permission."),
        row(
            403, .expiredProviderToken, [.renewToken, .otherConnection],
            "The provider token is more than an hour old, by APNs' clock."),
        row(
            403, .invalidProviderToken, [.otherConnection, .pauseLane],
            "The provider token is wrong: key id, team, topic or signature, or the key was revoked."),
        row(403, .missingProviderToken, .pauseLane, "The request carried no provider token."),
        row(403, .unrelatedKeyIDInToken, .otherConnection, "The connection already belongs to another key."),
        row(
            403, .badEnvironmentKeyIDInToken, .pauseLane, "The key is not for this APNs environment.",
            alsoSpelled: ["BadEnvironmentKeyInToken"]),
        row(404, .badPath, .failMessage, "The request path is wrong."),
        row(405, .methodNotAllowed, .failMessage, "The request method is not POST."),
        row(410, .unregistered, .dropRegistration, "The app is gone from the device or its token is inactive."),
        row(410, .expiredToken, .dropRegistration, "The device token has expired."),
        row(413, .payloadTooLarge, .failMessage, "The payload is larger than APNs takes."),
        // Never renewToken: another new token is what APNs complains of.
        row(
            429, .tooManyProviderTokenUpdates, .otherConnection,
            "The provider token was renewed twice within 20 minutes on one connection."),
        row(429, .tooManyRequests, .backOff, "Too many pushes went to this one device."),
        row(500, .internalServerError, .backOff, "APNs failed."),
        row(
            503, .serviceUnavailable, .backOff, "APNs is overloaded or down.", alsoSpelled: ["Service Unavailable"]),
        row(503, .shutdown, .otherConnection, "The APNs server is shutting down."),
    ]

    private static let rowsBySpelling: [String: Row] = Dictionary(
        rows.flatMap { row in ([row.reason.rawValue] + row.otherSpellings).map { ($0, row) } },
        uniquingKeysWith: { first, _ in first })

    /// The row of a reason in any of its spellings.
    package static func row(of reason: APNSReason) -> Row? {
        rowsBySpelling[reason.rawValue]
    }

    private static func row(
        _ status: Int, _ reason: APNSReason, _ action: APNSAction, _ meaning: String, alsoSpelled: [String] = []
    ) -> Row {
        row(status, reason, [action], meaning, alsoSpelled: alsoSpelled)
    }

    private static func row(
        _ status: Int, _ reason: APNSReason, _ actions: Set<APNSAction>, _ meaning: String, alsoSpelled: [String] = []
    ) -> Row {
        Row(reason: reason, otherSpellings: alsoSpelled, status: status, meaning: meaning, actions: actions)
    }
}
