/// A push as a person would see it on a phone, drawn with lines of text in a terminal.
///
/// ```text
/// ┌ alert · com.example.app · …b1946a ───────────────────────────┐
/// │ Your order is on its way                                     │
/// │ Arrives today between 5 and 6                                │
/// │ badge 2 · sound default · thread orders                      │
/// │ order: 4711                                                  │
/// │ Firebase keys: gcm.message_id=17                             │
/// └ 200 ─────────────────────────────────────────────────────────┘
/// ```
///
/// What comes from the payload is stripped of control characters: a push cannot drive the terminal.
package struct PushPresentation: Sendable {
    /// How a line looks when colours are asked for.
    enum Style: Sendable {
        case plain, bold, dim
    }

    /// A line of text, not yet broken to the width.
    struct Line: Sendable, Hashable {
        var text: String
        var style = Style.plain
    }

    let heading: String
    let lines: [Line]
    let footing: String

    /// Reads a push.
    package init(_ push: RecordedPush) {
        let payload = JSON.read(Array(push.payload.utf8))
        heading = Self.heading(of: push)
        footing =
            push.status == 0 ? "no answer" : "\(push.status)" + (push.reason.map { " \($0)" } ?? "")
        if push.channelRequest != nil, push.payload.isEmpty {
            lines = []
            return
        }
        guard let payload, case .object(let members) = payload else {
            lines = [Line(text: "not a JSON object: " + push.payload.prefix(200), style: .dim)]
            return
        }
        let aps = payload["aps"] ?? .object([])
        lines =
            Self.alertLines(aps) + Self.factLine(aps, push.headers) + Self.imageLines(payload)
            + Self.liveActivityLines(aps) + Self.customLines(members) + Self.firebaseLine(members)
    }

    /// The drawing, without a line break at its end.
    ///
    /// - Parameters:
    ///   - width: columns of the whole box.
    ///   - usesColour: whether to use ANSI bold and dim.
    package func text(width: Int = 72, usesColour: Bool = false) -> String {
        let inner = max(20, width - 4)
        var rows = [Self.edge("┌", heading, "┐", inner)]
        for line in lines {
            for piece in TerminalText.wrapped(line.text, to: inner) {
                let padding = String(repeating: " ", count: max(0, inner - TerminalText.columns(of: piece)))
                rows.append("│ \(Self.styled(piece, usesColour ? line.style : .plain))\(padding) │")
            }
        }
        rows.append(Self.edge("└", footing, "┘", inner))
        return rows.joined(separator: "\n")
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

    private static func edge(_ left: String, _ label: String, _ right: String, _ inner: Int) -> String {
        let label = TerminalText.truncated(TerminalText.cleaned(label), to: inner - 1)
        let rule = String(repeating: "─", count: inner - TerminalText.columns(of: label))
        return "\(left) \(label) \(rule)\(right)"
    }

    private static func styled(_ text: String, _ style: Style) -> String {
        switch style {
        case .plain: text
        case .bold: "\u{1B}[1m\(text)\u{1B}[0m"
        case .dim: "\u{1B}[2m\(text)\u{1B}[0m"
        }
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

    /// A value in one line: strings bare, everything else as compact JSON.
    private static func shown(_ value: JSON) -> String {
        value.text ?? value.compact
    }
}

extension JSON {
    /// The value as JSON without white space.
    var compact: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): jsonString(text)
        case .array(let elements): "[" + elements.map(\.compact).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { jsonString($0.key) + ":" + $0.value.compact }.joined(separator: ",") + "}"
        }
    }
}
