extension PushPresentation {
    /// Reads a push that arrived at the simulated APNs.
    package init(_ push: RecordedPush) {
        let payload = JSON.read(Array(push.payload.utf8))
        self.init(
            heading: Self.heading(of: push), lines: Self.lines(of: push, payload),
            footing: Self.footing(push.status, push.reason))
    }

    private static func lines(of push: RecordedPush, _ payload: JSON?) -> [Line] {
        if push.channelRequest != nil, push.payload.isEmpty { return [] }
        guard let payload, case .object(let members) = payload else { return [notAnObject(push.payload)] }
        let aps = payload["aps"] ?? .object([])
        return alertLines(aps) + factLine(aps, push.headers) + imageLines(payload) + liveActivityLines(aps)
            + customLines(members) + firebaseLine(members)
    }

    /// Who gets it: a device, or the subscribers of a channel; of a management request what it is.
    private static func heading(of push: RecordedPush) -> String {
        let type = push.headers["apns-push-type"] ?? "alert"
        if let request = push.channelRequest {
            let channel = push.headers["apns-channel-id"].map { " · channel \($0)" } ?? ""
            guard let app = request.split(separator: "/apps/").last, request.hasPrefix("POST /4/") else {
                return request + channel
            }
            return "\(type) · \(app)\(channel)"
        }
        let topic = push.headers["apns-topic"] ?? "no topic"
        return "\(type) · \(topic) · …\(push.deviceToken.suffix(6))"
    }

    // MARK: What stands in the box

    private static func alertLines(_ aps: JSON) -> [Line] {
        let alert = aps["alert"]
        if let body = alert?.text { return [Line(text: body)] }
        var lines: [Line] = []
        if let title = localized(alert, "title") { lines.append(Line(text: title, style: .bold)) }
        if let subtitle = localized(alert, "subtitle") { lines.append(Line(text: subtitle)) }
        if let body = localized(alert, "body") { lines.append(Line(text: body)) }
        if lines.isEmpty, aps["badge"] == nil, aps["sound"] == nil {
            lines.append(Line(text: "(silent: the user sees nothing)", style: .dim))
        }
        return lines
    }

    /// A text of the alert, or the key and arguments that the app replaces it with.
    private static func localized(_ alert: JSON?, _ name: String) -> String? {
        let prefix = name == "body" ? "" : name + "-"
        if let key = alert?[prefix + "loc-key"]?.text {
            guard case .array(let arguments) = alert?[prefix + "loc-args"] ?? .null else { return "‹\(key)›" }
            return "‹\(key)›(" + arguments.map(shown).joined(separator: ", ") + ")"
        }
        return alert?[name].map(shown)
    }

    private static func factLine(_ aps: JSON, _ headers: [String: String]) -> [Line] {
        var facts: [String] = []
        if let badge = aps["badge"] { facts.append("badge \(shown(badge))") }
        if let sound = aps["sound"] {
            let isCritical = sound["critical"]?.integer == 1
            facts.append("sound \(sound["name"].map(shown) ?? shown(sound))" + (isCritical ? " (critical)" : ""))
        }
        for (key, name) in [("category", "category"), ("thread-id", "thread"), ("interruption-level", "level")] {
            if let value = aps[key] { facts.append("\(name) \(shown(value))") }
        }
        if aps["content-available"]?.integer == 1 { facts.append("wakes the app") }
        if aps["mutable-content"]?.integer == 1 { facts.append("mutable") }
        if let id = headers["apns-collapse-id"] { facts.append("collapse id \(id)") }
        if let priority = headers["apns-priority"], priority != "10" { facts.append("priority \(priority)") }
        return facts.isEmpty ? [] : [Line(text: facts.joined(separator: " · "))]
    }

    private static func imageLines(_ payload: JSON) -> [Line] {
        payload["fcm_options"]?["image"]?.text.map { [Line(text: "image: \($0)")] } ?? []
    }

    private static func liveActivityLines(_ aps: JSON) -> [Line] {
        ["event", "content-state", "attributes-type", "attributes"].compactMap { key in
            aps[key].map { Line(text: "\(key): \(shown($0))") }
        }
    }

    private static func customLines(_ members: [JSON.Member]) -> [Line] {
        members.filter { !isReserved($0.key) }.map { Line(text: "\($0.key): \(shown($0.value))") }
    }

    private static func firebaseLine(_ members: [JSON.Member]) -> [Line] {
        let keys = members.filter { isFirebase($0.key) }.map { "\($0.key)=\(shown($0.value))" }
        return keys.isEmpty ? [] : [Line(text: "Firebase keys: " + keys.joined(separator: " "), style: .dim)]
    }

    private static func isReserved(_ key: String) -> Bool {
        key == "aps" || key == "fcm_options" || isFirebase(key)
    }

    private static func isFirebase(_ key: String) -> Bool {
        key.hasPrefix("gcm.") || key.hasPrefix("google.c.")
    }
}
