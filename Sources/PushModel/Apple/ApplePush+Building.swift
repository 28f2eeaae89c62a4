extension ApplePush {
    /// Builds body and headers of `content` for one app, by the table in `APNSMapping`, and checks them against
    /// Apple's limits on the finished bytes.
    ///
    /// - Throws: ``InvalidMessage`` that names the field, for size both sizes.
    public convenience init(_ content: MessageContent, in context: Context) throws(InvalidMessage) {
        if context.broadcastTopic != nil { try content.checkForBroadcast() }
        var template = AppleTemplate(content)
        template.values.merge(context.values(label: content.label), uniquingKeysWith: { _, new in new })
        let isLiveActivity = content.apns.liveActivityToken != nil
        // A device-management wake-up is exactly `{"mdm": …}`.
        let keys = template.headers.namedPushType == .mdm ? FirebaseKeys.none : context.app.firebaseKeys
        let parts = AppleParts(try template.composed(keys: keys), isLiveActivity: isLiveActivity)
        try parts.checkPushType()
        let topic = try parts.topic(of: context.app.id)
        let priority = try parts.priority()
        let payload = parts.payload.canonicalBytes
        let offset = keys == .full ? 1 : nil
        try parts.checkSize(of: payload, isSpliced: offset != nil, template: template)
        self.init(
            payload: payload, pushType: parts.pushType, topic: topic, priority: priority,
            expiration: parts.headers.expiration ?? .until(context.expiresAt), collapseID: parts.headers.collapseID,
            id: parts.headers.id, registrationIDOffset: offset)
    }

    /// What is spliced in at ``registrationIDOffset`` for one registration: right behind the opening brace, in front
    /// of the gateway's other keys.
    static func registrationIDEntry(_ id: String) -> String {
        "\"\(APNSMapping.registrationIDKey)\":\"\(id)\","
    }
}

extension MessageContent {
    /// Whether a device shows something: an alert, a badge or a sound.
    public var isDisplayed: Bool {
        var composition = AppleComposition(headers: apns.headers)
        _ = AppleTemplate(self).fill(&composition, keys: .none)
        return AppleParts(composition, isLiveActivity: apns.liveActivityToken != nil).isDisplayed
    }
}

extension MessageContent {
    /// What names one device cannot go to many.
    fileprivate func checkForBroadcast() throws(InvalidMessage) {
        if apns.headers.id != nil {
            throw InvalidMessage(header: "apns-id", "apns-id names one push: it cannot be set for a topic.")
        }
        if apns.liveActivityToken != nil {
            throw InvalidMessage([
                FieldViolation(
                    field: "message.apns.live_activity_token",
                    description: "A Live Activity token names one activity: it cannot be set for a topic.")
            ])
        }
    }
}

/// A composed message with what follows from it: push type, priority, payload.
private struct AppleParts {
    let headers: APNSHeaders
    let aps: [JSONValue.Member]
    let custom: [JSONValue.Member]
    let pushType: PushType
    let isDisplayed: Bool

    /// - Parameter isLiveActivity: whether the push goes to the token of a Live Activity.
    init(_ composition: AppleComposition, isLiveActivity: Bool) {
        headers = composition.headers
        custom = composition.custom
        var aps = composition.aps
        let named = headers.namedPushType ?? (isLiveActivity ? .liveactivity : nil)
        // Nothing for the user and nothing for the system: it is for the app, which must be woken to see it.
        if aps.isEmpty, named == nil || named == .background {
            aps = [JSONValue.Member("content-available", .number("1"))]
        }
        self.aps = aps
        isDisplayed = aps.contains { $0.isShown }
        let wakes = aps.contains { $0.name == "content-available" && $0.value.isOne }
        pushType = named ?? (wakes && !isDisplayed ? .background : .alert)
    }

    var payload: JSONValue {
        .object(custom + (aps.isEmpty ? [] : [JSONValue.Member("aps", .object(aps))]))
    }

    /// A background push shows nothing.
    func checkPushType() throws(InvalidMessage) {
        guard pushType == .background, isDisplayed else { return }
        throw InvalidMessage(
            header: "apns-push-type",
            "A background push shows nothing: leave out the notification and alert, badge and sound, or send an alert.")
    }

    /// The app's own topic: APNs takes no other for the app's tokens.
    func topic(of app: AppID) throws(InvalidMessage) -> String {
        let topic = app.rawValue + pushType.topicSuffix
        // The topic of device management is that of its certificate.
        if pushType == .mdm, let named = headers.topic { return named }
        // The bare bundle id says which app, the suffix follows from the push type.
        guard let named = headers.topic, named != topic, named != app.rawValue else { return topic }
        let choice = topic == app.rawValue ? topic : "\(app.rawValue) or \(topic)"
        throw InvalidMessage(
            header: "apns-topic",
            "apns-topic must be \(choice) for the push type \(pushType.rawValue) to the app \(app.rawValue).")
    }

    /// APNs refuses background pushes that are not conserving, and FCM data messages that are not.
    func priority() throws(InvalidMessage) -> APNSPriority {
        let isQuiet = pushType == .background || pushType == .alert && !isDisplayed
        if isQuiet, headers.priority == .immediate {
            throw InvalidMessage(
                header: "apns-priority",
                "apns-priority 10 is for messages that show something: a background or data message takes 5.")
        }
        return headers.priority ?? (isQuiet ? .conserving : .immediate)
    }

    func checkSize(of payload: [UInt8], isSpliced: Bool, template: AppleTemplate) throws(InvalidMessage) {
        let fid = String(repeating: "c", count: 22)
        let size = payload.count + (isSpliced ? ApplePush.registrationIDEntry(fid).utf8.count : 0)
        let limit = pushType.payloadLimitBytes
        guard size > limit else { return }
        throw InvalidMessage([
            FieldViolation(
                field: template.largestField(of: size),
                description: "iOS message is too big: its APNs payload has \(size) bytes, the limit is \(limit).")
        ])
    }
}

extension AppleTemplate {
    /// The field that alone makes up more than half of `size` bytes of payload; otherwise the message.
    fileprivate func largestField(of size: Int) -> String {
        // The sender's own alert replaces title and body.
        let replaced: Set<FCMSource> =
            values[.payload]?["aps"]?["alert"].map { $0 != .null } ?? false ? [.title, .body] : []
        let fields: [FCMSource] = [.title, .body, .data, .payload]
        let largest = fields.first { source in
            !replaced.contains(source) && (values[source]?.canonicalBytes.count ?? 0) > size / 2
        }
        return largest.map { "message.\($0.rawValue)" } ?? "message"
    }
}

extension JSONValue.Member {
    /// Whether this member of `aps` makes the device show or play something. Empty ones are an old way to say
    /// "nothing".
    fileprivate var isShown: Bool {
        guard ["alert", "badge", "sound"].contains(name) else { return false }
        return value != .string("") && value != .object([])
    }
}

extension JSONValue {
    fileprivate var isOne: Bool {
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
}

extension ApplePush.Context {
    /// What the gateway adds.
    fileprivate func values(label: AnalyticsLabel?) -> [FCMSource: JSONValue] {
        var values: [FCMSource: JSONValue] = [
            .messageID: .string(message.rawValue), .sender: .string(String(projectNumber)),
        ]
        values[.broadcastTopic] = broadcastTopic.map { .string("/topics/" + $0.rawValue) }
        values[.isLabelled] = label.map { _ in .string("1") }
        values[.label] = label.map { .string($0.rawValue) }
        return values
    }
}

extension InvalidMessage {
    fileprivate init(header name: String, _ description: String) {
        self.init([FieldViolation(field: "message.apns.headers.\(name)", description: description)])
    }
}
