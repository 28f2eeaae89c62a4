import FCMWire
import JSON
import PushModel

/// What depends on the app that a message goes to.
extension AppleParts {
    /// Device management needs a certificate, some other push types a provider token.
    func checkCredential(_ credential: CredentialKind, of app: AppID) throws(InvalidMessage) {
        let problem: String
        switch credential {
        case .certificate where pushType.requiresProviderToken:
            problem = "a provider token (team and key), and the app \(app.rawValue) has a certificate."
        case .providerToken where pushType.requiresCertificate:
            problem = "the push certificate of device management, and the app \(app.rawValue) has a provider token."
        case .certificate, .providerToken: return
        }
        throw InvalidMessage([
            FieldViolation(
                field: headers.pushTypeField, description: "The push type \(pushType.rawValue) needs \(problem)")
        ])
    }

    /// What the topic of a device-management certificate begins with (Apple, "MDM", `Topic`).
    private static let managementPrefix = "com.apple.mgmt."

    /// The app's own topic with the suffix of the push type: APNs takes no other for the app's tokens.
    func topic(of app: AppID) throws(InvalidMessage) -> String {
        if pushType == .mdm { return try managementTopic(of: app) }
        let topic = app.rawValue + pushType.topicSuffix
        guard let named = headers.topic, named != topic else { return topic }
        throw InvalidMessage(
            header: "apns-topic",
            "apns-topic must be \(topic) for the push type \(pushType.rawValue) to the app \(app.rawValue).")
    }

    /// The topic of device management is the user ID of its certificate, not an app's.
    private func managementTopic(of app: AppID) throws(InvalidMessage) -> String {
        let topic = headers.topic ?? app.rawValue
        guard !topic.hasPrefix(Self.managementPrefix) else { return topic }
        throw InvalidMessage(
            header: "apns-topic",
            "apns-topic must be the user ID of the device-management certificate: \(Self.managementPrefix)…")
    }

    /// What a publication to a channel may be: an update or the end of a Live Activity (Apple, "Starting and updating Live
    /// Activities with ActivityKit push notifications").
    func checkForBroadcast(_ policy: StoragePolicy, _ content: FCMMessage) throws(InvalidMessage) {
        guard pushType == .liveactivity, content.apns.liveActivityToken == nil else {
            let field =
                content.apns.liveActivityToken == nil ? headers.pushTypeField : "message.apns.live_activity_token"
            throw InvalidMessage([
                FieldViolation(
                    field: field,
                    description: "A channel takes Live Activity pushes to all that subscribe: set the header "
                        + "apns-push-type to liveactivity, and no live_activity_token.")
            ])
        }
        if aps.contains(where: { $0.name == "event" && $0.value == .string("start") }) {
            throw InvalidMessage([
                FieldViolation(
                    field: "message.apns.payload.aps.event",
                    description: "A channel can't start a Live Activity: send the start to devices, with the channel's "
                        + "id as aps.input-push-channel, or let the app start it.")
            ])
        }
        if policy == .none, case .until = headers.expiration {
            throw InvalidMessage(
                header: "apns-expiration",
                "The channel stores nothing (NONE), so apns-expiration can only be 0: leave it out.")
        }
        guard headers.collapseID == nil else {
            throw InvalidMessage(header: "apns-collapse-id", "A publication to a channel has no collapse id.")
        }
    }

    /// - Parameter limit: the most bytes; `nil`: what the push type has.
    func checkSize(
        of payload: [UInt8], isSpliced: Bool, limit: Int?, template: AppleTemplate
    ) throws(InvalidMessage) {
        let size = payload.count + (isSpliced ? ApplePush.registrationIDEntryBytes : 0)
        let limit = limit ?? pushType.payloadLimitBytes
        guard size > limit else { return }
        throw InvalidMessage([
            FieldViolation(
                field: template.largestField(of: size),
                description: "iOS message is too big: its APNs payload has \(size) bytes, the limit is \(limit).",
                cause: .payloadTooLarge)
        ])
    }
}
