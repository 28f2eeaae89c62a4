package import JSON
package import PushModel

/// A composed message with what follows from it: push type, priority, payload.
package struct AppleParts {
    package let headers: APNSHeaders
    package let aps: [JSONValue.Member]
    package let custom: [JSONValue.Member]
    package let pushType: PushType
    package let isDisplayed: Bool

    /// Takes what `content` was composed to.
    package init(_ composition: AppleComposition, of content: FCMMessage) {
        self.init(composition, of: content.apns)
    }

    private init(_ composition: AppleComposition, of apns: FCMMessage.APNSConfig) {
        headers = composition.headers
        custom = composition.custom
        var aps = composition.aps
        let named = headers.namedPushType ?? (apns.liveActivityToken == nil ? nil : .liveactivity)
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
    package init(of content: FCMMessage) {
        self.init(AppleTemplate(content), of: content.apns)
    }

    /// The parts of a message that is being read.
    init(of reader: MessageReader) {
        self.init(AppleTemplate(reader.notification, reader.data, reader.apns), of: reader.apns)
    }

    private init(_ template: AppleTemplate, of apns: FCMMessage.APNSConfig) {
        var composition = AppleComposition(headers: apns.headers)
        _ = template.fill(&composition, keys: .none)
        self.init(composition, of: apns)
    }

    /// The body.
    package var payload: JSONValue {
        .object(custom + (aps.isEmpty ? [] : [JSONValue.Member("aps", .object(aps))]))
    }

    /// Whether the push is for the app alone. FCM takes only priority 5 for these, as APNs does for background pushes.
    package var isQuiet: Bool { pushType == .background || pushType == .alert && !isDisplayed }

    /// The sender's, otherwise what suits the push type.
    package var priority: PushPriority {
        headers.priority ?? (isQuiet ? .conserving : pushType.defaultPriority)
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
    package var namedPushType: PushType? {
        pushType
            ?? topic.flatMap { topic in
                PushType.allCases.first { !$0.topicSuffix.isEmpty && topic.hasSuffix($0.topicSuffix) }
            }
    }

    /// The path of the header that says which push type it is.
    package var pushTypeField: String {
        let name = pushType == nil && namedPushType != nil ? "apns-topic" : "apns-push-type"
        return "message.apns.headers.\(name)"
    }
}

extension InvalidMessage {
    /// One wrong header.
    package init(header name: String, _ description: String) {
        self.init([FieldViolation(field: "message.apns.headers.\(name)", description: description)])
    }
}
