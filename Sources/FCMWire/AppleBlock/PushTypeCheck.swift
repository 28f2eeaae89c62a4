import JSON
import PushModel

/// Checks that push type, priority and payload of a message fit together (apns.md §2.1, §4).
///
/// Names and types of the values are right already. APNs itself looks at little of this: it accepts the push, and the
/// device drops it or shows nothing. Only a new request is checked: what was accepted is sent as it is.
struct PushTypeCheck {
    private let content: FCMMessage
    private let parts: AppleParts

    /// - Parameter parts: what the content was composed to.
    init(_ content: FCMMessage, _ parts: AppleParts) {
        self.content = content
        self.parts = parts
    }

    /// Everything that does not fit: headers first, then the payload. A payload for another push type is told once,
    /// not key by key.
    var violations: [FieldViolation] {
        let contradictions = pushTypeViolations
        return contradictions.isEmpty ? priorityViolations + payloadViolations : contradictions
    }

    // MARK: - Headers

    private var pushTypeViolations: [FieldViolation] {
        let field = parts.headers.pushTypeField
        if content.apns.liveActivityToken != nil, parts.pushType != .liveactivity {
            return [
                FieldViolation(
                    field: field,
                    description: "A push to a live_activity_token has the push type liveactivity, not "
                        + "\(parts.pushType.rawValue).")
            ]
        }
        guard showsNothing, parts.isDisplayed else { return [] }
        let subject = parts.pushType == .background ? "A background push" : "A push for \(parts.pushType.rawValue)"
        return [
            FieldViolation(
                field: field,
                description: "\(subject) shows nothing: leave out the notification and alert, badge and sound, or send "
                    + "an alert.")
        ]
    }

    /// Whether a push of this type never has anything for the user.
    private var showsNothing: Bool {
        switch parts.pushType {
        case .background, .widgets, .controls: true
        // `{"mdm": …}` and nothing else is a rule of its own.
        case .mdm: false
        case .alert, .voip, .complication, .fileprovider, .liveactivity, .location, .pushtotalk: false
        }
    }

    private var priorityViolations: [FieldViolation] {
        guard let priority = parts.headers.priority else { return [] }
        let field = "message.apns.headers.apns-priority"
        if parts.isQuiet, priority == .immediate {
            return [
                FieldViolation(
                    field: field,
                    description:
                        "apns-priority 10 is for messages that show something: a background or data message takes 5.")
            ]
        }
        let allowed = parts.pushType.allowedPriorities
        guard !allowed.contains(priority) else { return [] }
        let names = allowed.map { String($0.rawValue) }.joined(separator: " or ")
        return [
            FieldViolation(
                field: field,
                description: "apns-priority must be \(names) for the push type \(parts.pushType.rawValue).")
        ]
    }

    // MARK: - Payload

    private var payloadViolations: [FieldViolation] {
        switch parts.pushType {
        case .liveactivity: return LiveActivityCheck(aps: parts.aps).violations
        case .background: return apsViolations + flagViolation("content-available", value: "1", isSet: \.isOne)
        case .widgets, .controls:
            return apsViolations + flagViolation("content-changed", value: "true", isSet: { $0 == .bool(true) })
        case .fileprovider: return apsViolations + fileProviderViolations
        case .mdm: return managementViolations
        case .alert, .voip, .complication, .location, .pushtotalk: return apsViolations
        }
    }

    /// What only a Live Activity may say.
    private var apsViolations: [FieldViolation] {
        let alert = aps("alert")
        var found = ["title", "body"].compactMap { name -> FieldViolation? in
            guard case .object? = alert?[name] else { return nil }
            let key = name == "title" ? "title-loc-key" : "loc-key"
            return .aps("alert.\(name)", "\(name) must be a string, except in a Live Activity; \(key) localizes it.")
        }
        if alert?["sound"] ?? .null != .null {
            found.append(.aps("alert.sound", "sound stands inside alert only in a Live Activity: put it beside alert."))
        }
        if case .number(let text)? = aps("relevance-score"), !(Double(text).map { (0...1).contains($0) } ?? false) {
            found.append(
                .aps("relevance-score", "relevance-score must be a number from 0 to 1, except for a Live Activity."))
        }
        return found
    }

    /// The one member of `aps` that says what the push is for.
    private func flagViolation(
        _ name: String, value: String, isSet: (JSONValue) -> Bool
    ) -> [FieldViolation] {
        if let member = aps(name), isSet(member) { return [] }
        return [.aps(name, "\(name) must be \(value) in a push of the type \(parts.pushType.rawValue).")]
    }

    /// `{"container-identifier": …, "domain": …}` (NSFileProviderManager, `signalEnumerator`).
    private var fileProviderViolations: [FieldViolation] {
        let payload = JSONValue.object(parts.custom)
        var found: [FieldViolation] = []
        if (payload["container-identifier"]?.stringValue ?? "").isEmpty {
            found.append(.payload("container-identifier", "container-identifier must be a string that is not empty."))
        }
        let domain = payload["domain"] ?? .null
        if domain != .null, domain.stringValue == nil {
            found.append(.payload("domain", "domain must be a string."))
        }
        return found
    }

    /// `{"mdm": "<PushMagic>"}` and nothing else.
    private var managementViolations: [FieldViolation] {
        let rule = "a device-management push is {\"mdm\": …} and nothing else."
        var found: [FieldViolation] = []
        if (JSONValue.object(parts.custom)["mdm"]?.stringValue ?? "").isEmpty {
            found.append(.payload("mdm", "mdm must be the device's PushMagic, a string."))
        }
        if content.notification?.title != nil || content.notification?.body != nil {
            found.append(FieldViolation(field: "message.notification", description: "Leave out notification: \(rule)"))
        }
        if let index = content.data.firstIndex(where: { $0.key != "mdm" }) {
            found.append(FieldViolation(field: "message.data[\(index)].key", description: "Leave out the key: \(rule)"))
        }
        if case .object(let members)? = content.apns.payload {
            found += members.lazy.filter { $0.name != "mdm" }.prefix(InvalidMessage.violationLimit).map { member in
                .payload(member.name.excerpt, "Leave out \(member.name.excerpt): \(rule)")
            }
        }
        return found
    }

    private func aps(_ name: String) -> JSONValue? {
        parts.aps.last { $0.name == name }?.value
    }
}

extension FieldViolation {
    /// Of a key of `aps`.
    static func aps(_ name: String, _ description: String) -> FieldViolation {
        payload("aps.\(name)", description)
    }

    /// Of a key of the payload.
    static func payload(_ name: String, _ description: String) -> FieldViolation {
        FieldViolation(field: "message.apns.payload.\(name)", description: description)
    }
}
