package import JSON
package import PushModel

extension FCMMessage {
    /// Decodes and checks the `message` object of a send request. The target fields are allowed and ignored here:
    /// ``Target`` is read by ``target(of:)``.
    ///
    /// - Parameter bytes: those of the request, when they are what `source` would be written as.
    /// - Throws: ``InvalidMessage`` with one violation for each field that is wrong. As at Google, FCM's own rules
    ///   are looked at only when names and types are right, and whether headers and payload fit the push type only when
    ///   each is right in itself.
    package convenience init(source: JSONValue, bytes: [UInt8]? = nil) throws(InvalidMessage) {
        let violations = MessageSchema.message.check(source, at: "message")
        guard violations.isEmpty else { throw InvalidMessage(violations, isFrontEnd: true) }
        var reader = MessageReader(checksOtherPlatforms: true)
        reader.readMessage(source)
        guard reader.violations.isEmpty else { throw InvalidMessage(reader.violations) }
        let parts = AppleParts(of: reader)
        self.init(source, bytes, reader, parts)
        let contradictions = PushTypeCheck(self, parts).violations
        guard contradictions.isEmpty else { throw InvalidMessage(contradictions) }
    }

    /// Decodes a message that was checked when it was accepted, and refuses nothing.
    ///
    /// The version that accepted it may have allowed what this one refuses; what was promised is still sent. Names
    /// that are unknown now are passed over, values of a wrong type too, and of headers those that APNs or HTTP/2
    /// would refuse.
    package convenience init(stored source: JSONValue) {
        var reader = MessageReader(checksOtherPlatforms: false)
        reader.readMessage(source)
        self.init(source, nil, reader, nil)
    }
}

/// Reads a message whose names and types are right and notes every rule of FCM's or Apple's that it breaks, in the
/// order of the text.
struct MessageReader {
    /// Whether blocks that nothing is made of are looked at.
    private let checksOtherPlatforms: Bool
    /// The fields of the message.
    private(set) var fields: [MessageSchema.Field] = []
    private var apnsFields: [MessageSchema.Field] = []
    var notification: FCMMessage.NotificationTemplate?
    var data: [FCMMessage.DataEntry] = []
    var apns = FCMMessage.APNSConfig(headers: APNSHeaders())
    var commonLabel: AnalyticsLabel?
    var appleLabel: AnalyticsLabel?
    var violations: [FieldViolation] = []

    init(checksOtherPlatforms: Bool) {
        self.checksOtherPlatforms = checksOtherPlatforms
    }

    mutating func readMessage(_ source: JSONValue) {
        fields = MessageSchema.message.fields(of: source)
        // Images first: they decide whether one of the data keys is free.
        for field in fields { readImage(field) }
        for field in fields {
            switch field.name {
            case "data": readData(field.value)
            case "apns": readAPNS()
            case "fcm_options":
                commonLabel = MessageSchema.options.label(
                    in: field.value, at: "message.fcm_options", noting: &violations)
            case "android", "android_v2", "webpush":
                guard checksOtherPlatforms else { continue }
                var rules = PlatformRules(message: fields)
                rules.check(field)
                for violation in rules.violations {
                    violations.note(violation.field, violation.description, cause: violation.cause)
                }
            default: continue
            }
        }
        guard fields.count(where: \.isAndroid) > 1, let second = fields.last(where: \.isAndroid) else { return }
        violations.note("message.\(second.name)", "android and android_v2 exclude each other: set only one of them.")
    }

    private mutating func readImage(_ field: MessageSchema.Field) {
        switch field.name {
        case "notification":
            readNotification(field.value)
            checkImage(notification?.image, at: "message.notification.image")
        case "apns":
            apnsFields = MessageSchema.apns.fields(of: field.value)
            let options = apnsFields.first { $0.name == "fcm_options" }
            apns.image = options.flatMap { MessageSchema.apnsOptions.text("image", of: $0.value) }
            checkImage(apns.image, at: "message.apns.fcm_options.image")
        default: return
        }
    }

    /// App Transport Security lets an app load no other: the notification would come without its image.
    private mutating func checkImage(_ image: String?, at path: String) {
        guard let image, !image.isURLWithTLS else { return }
        violations.note(path, "The image must be an https URL.")
    }

    private mutating func readNotification(_ value: JSONValue) {
        var template = FCMMessage.NotificationTemplate()
        for field in MessageSchema.notification.fields(of: value) {
            // The empty string is proto's "not set".
            guard let text = field.value.stringValue, !text.isEmpty else { continue }
            switch field.name {
            case "title": template.title = text
            case "body": template.body = text
            case "image": template.image = text
            default: continue
            }
        }
        notification = template
    }

    private mutating func readData(_ value: JSONValue) {
        guard case .object(let members) = value else { return }
        for (index, member) in members.enumerated() {
            guard case .string(let text) = member.value else { continue }
            // `aps` would replace Apple's own dictionary.
            if member.name.isReservedDataKey || member.name == "aps" {
                violations.note("message.data[\(index)].key", "Invalid data payload key: \(member.name.excerpt)")
            } else if member.name == "fcm_options", notification?.image != nil || apns.image != nil {
                // The image stands under this name in the finished payload: the entry would be lost.
                violations.note(
                    "message.data[\(index)].key", "Invalid data payload key: fcm_options, taken by the image")
            }
            data.append(FCMMessage.DataEntry(key: member.name, value: text))
        }
    }

    private mutating func readAPNS() {
        for field in apnsFields {
            switch field.name {
            case "headers": readHeaders(field.value)
            case "payload": readPayload(field.value)
            case "fcm_options":
                appleLabel = MessageSchema.apnsOptions.label(
                    in: field.value, at: "message.apns.fcm_options", noting: &violations)
            case "live_activity_token": readLiveActivityToken(field.value)
            default: continue
            }
        }
    }

    private mutating func readHeaders(_ value: JSONValue) {
        guard case .object(let members) = value else { return }
        var names: Set<String> = []
        for member in members {
            guard case .string(let text) = member.value else { continue }
            let name = member.name.lowercased()
            guard names.insert(name).inserted else {
                // Field names are the same in any case (RFC 9110 §5.1): the value that is meant is unknown.
                violations.note(
                    "message.apns.headers.\(member.name.excerpt)", "The header \(name.excerpt) is given twice.")
                continue
            }
            if let problem = apns.headers.set(member.name, to: text) {
                violations.note("message.apns.headers.\(member.name.excerpt)", problem)
            }
        }
    }

    private mutating func readPayload(_ value: JSONValue) {
        guard case .object(let members) = value else { return }
        apns.payload = value
        for member in members {
            let path = "message.apns.payload.\(member.name.excerpt)"
            if member.name == "aps" {
                violations += APSKind.aps.violations(in: member.value, at: path)
            } else if member.name.startsWithBytes(of: "gcm.") || member.name.startsWithBytes(of: "google.c.") {
                violations.note(path, "The key \"\(member.name.excerpt)\" is reserved: only the gateway sets it.")
            }
        }
    }

    private mutating func readLiveActivityToken(_ value: JSONValue) {
        guard case .string(let text) = value, !text.isEmpty else { return }
        apns.liveActivityToken = DeviceToken(registering: text)
        if apns.liveActivityToken == nil {
            violations.note(
                "message.apns.live_activity_token", "A Live Activity token is \(DeviceToken.registeringExpectation).")
        }
    }
}

extension MessageSchema.Field {
    var isAndroid: Bool { name == "android" || name == "android_v2" }
}

extension MessageSchema {
    /// The analytics label in `options`, whose type this is; a malformed one is noted.
    func label(
        in options: JSONValue, at path: String, noting violations: inout [FieldViolation]
    ) -> AnalyticsLabel? {
        guard let text = text("analytics_label", of: options) else { return nil }
        let label = AnalyticsLabel(rawValue: text)
        if label == nil {
            violations.note(
                "\(path).analytics_label", "Malformed analytics label: it must match ^[a-zA-Z0-9-_.~%]{1,50}$.")
        }
        return label
    }
}

extension String {
    /// Keys that FCM keeps for itself.
    var isReservedDataKey: Bool {
        self == "from" || self == "message_type" || startsWithBytes(of: "google.") || startsWithBytes(of: "gcm.")
    }

    /// `hasPrefix` by bytes: a combining mark behind the prefix must not hide it.
    fileprivate func startsWithBytes(of prefix: String) -> Bool {
        utf8.starts(with: prefix.utf8)
    }
}
