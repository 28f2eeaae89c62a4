import JSON

/// A composed message with what follows from it: push type, priority, payload.
struct AppleParts {
    let headers: APNSHeaders
    let aps: [JSONValue.Member]
    let custom: [JSONValue.Member]
    let pushType: PushType
    let isDisplayed: Bool

    /// Takes what `content` was composed to.
    init(_ composition: AppleComposition, of content: MessageContent) {
        headers = composition.headers
        custom = composition.custom
        var aps = composition.aps
        let named = headers.namedPushType ?? (content.apns.liveActivityToken == nil ? nil : .liveactivity)
        // Nothing for the user and nothing for the system: it is for the app, which must be woken to see it.
        if aps.isEmpty, named == nil || named == .background {
            aps = [JSONValue.Member("content-available", .number("1"))]
        }
        self.aps = aps
        isDisplayed = aps.contains { $0.isShown }
        let wakes = aps.contains { $0.name == "content-available" && $0.value.isOne }
        pushType = named ?? (wakes && !isDisplayed ? .background : .alert)
    }

    /// The parts of a message before it is known to which app it goes and what the gateway adds for that app.
    init(of content: MessageContent) {
        var composition = AppleComposition(headers: content.apns.headers)
        _ = AppleTemplate(content).fill(&composition, keys: .none)
        self.init(composition, of: content)
    }

    var payload: JSONValue {
        .object(custom + (aps.isEmpty ? [] : [JSONValue.Member("aps", .object(aps))]))
    }

    /// Whether the push is for the app alone. FCM takes only priority 5 for these, as APNs does for background pushes.
    var isQuiet: Bool { pushType == .background || pushType == .alert && !isDisplayed }

    var priority: APNSPriority {
        headers.priority ?? (isQuiet ? .conserving : pushType.defaultPriority)
    }

    /// Device management needs a certificate, some other push types a provider token.
    func checkCredential(of app: App) throws(InvalidMessage) {
        let problem: String
        switch app.credential {
        case .certificate where pushType.requiresProviderToken:
            problem = "a provider token (team and key), and the app \(app.id.rawValue) has a certificate."
        case .providerToken where pushType.requiresCertificate:
            problem = "the push certificate of device management, and the app \(app.id.rawValue) has a provider token."
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

    func checkSize(of payload: [UInt8], isSpliced: Bool, template: AppleTemplate) throws(InvalidMessage) {
        let fid = String(repeating: "c", count: 22)
        let size = payload.count + (isSpliced ? ApplePush.registrationIDEntry(fid).utf8.count : 0)
        let limit = pushType.payloadLimitBytes
        guard size > limit else { return }
        throw InvalidMessage([
            FieldViolation(
                field: template.largestField(of: size),
                description: "iOS message is too big: its APNs payload has \(size) bytes, the limit is \(limit).",
                cause: .payloadTooLarge)
        ])
    }
}

extension JSONValue.Member {
    /// Whether this member of `aps` makes the device show or play something. Empty ones are an old way to say
    /// "nothing".
    var isShown: Bool {
        guard ["alert", "badge", "sound"].contains(name) else { return false }
        return value != .string("") && value != .object([])
    }
}

extension JSONValue {
    /// Whether this is the number 1, however it is written.
    var isOne: Bool {
        guard case .number(let text) = self else { return false }
        return Double(text) == 1
    }
}

extension APNSHeaders {
    /// The push type that the sender named: by its header, otherwise by the suffix of the topic.
    var namedPushType: PushType? {
        pushType
            ?? topic.flatMap { topic in
                PushType.allCases.first { !$0.topicSuffix.isEmpty && topic.hasSuffix($0.topicSuffix) }
            }
    }

    /// The path of the header that says which push type it is.
    var pushTypeField: String {
        let name = pushType == nil && namedPushType != nil ? "apns-topic" : "apns-push-type"
        return "message.apns.headers.\(name)"
    }
}

extension InvalidMessage {
    init(header name: String, _ description: String) {
        self.init([FieldViolation(field: "message.apns.headers.\(name)", description: description)])
    }
}
