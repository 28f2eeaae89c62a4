import FCMWire
import JSON
import PushModel

/// What an operator typed into the composer, and the request that it makes.
struct ComposerForm: Sendable {
    /// To whom.
    enum Kind: String, Sendable, CaseIterable {
        case device, topic, condition, user

        var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
    }

    /// The names of the fields.
    static let names = [
        "kind", "target", "title", "body", "image", "link", "data", "badge", "sound", "category", "label", "expiry",
        "pace", "test",
    ]

    /// How long a message may wait: seconds, and in words.
    static let expiries: [(value: String, title: String)] = [
        ("", "4 weeks"), ("604800", "1 week"), ("86400", "1 day"), ("3600", "1 hour"), ("600", "10 minutes"),
        ("0", "Only now"),
    ]

    /// How fast: pushes a second, or minutes until the end, and in words.
    static let paces: [(value: String, title: String)] = [
        ("", "As fast as possible"), ("rate:10000", "10,000 a second"), ("rate:1000", "1,000 a second"),
        ("rate:100", "100 a second"), ("within:10", "Spread over 10 minutes"), ("within:60", "Spread over an hour"),
    ]

    private(set) var fields: [String: String] = [:]

    /// An empty form.
    init() {}

    /// The fields of a posted form.
    init(_ form: Form) {
        for name in Self.names { fields[name] = form.text(name) }
    }

    /// The fields of a draft; a draft that can't be read is an empty form.
    init(draft: String) {
        guard let json = try? JSONValue(parsing: Array(draft.utf8)) else { return }
        for member in json.members where Self.names.contains(member.name) {
            fields[member.name] = member.value.stringValue
        }
    }

    /// What a draft keeps.
    var draft: String {
        JSONText.text(
            .object(Self.names.compactMap { name in fields[name].map { JSONValue.Member(name, .string($0)) } }))
    }

    /// A field.
    subscript(name: String) -> String {
        get { (fields[name] ?? "").trimmed }
        set { fields[name] = newValue }
    }

    /// The most bytes of a draft.
    private static let draftLimitBytes = 64 << 10
    /// What is said of a message that is too large.
    static let tooLarge = "It has more than 64 KiB: it is not kept, and no push service takes it. Shorten it."

    /// Whether it has too much for a draft, and for any message.
    var isTooLarge: Bool { draft.utf8.count > Self.draftLimitBytes }

    /// Whether the target names devices one by one: how many they are is known at once.
    var namesDevices: Bool { [.device, .user].contains(kind) }

    /// To whom.
    var kind: Kind { Kind(rawValue: self["kind"]) ?? .device }

    /// Whether nothing was typed.
    var isEmpty: Bool { Self.names.allSatisfy { ["kind", "test"].contains($0) || self[$0].isEmpty } }

    /// Of what was typed, for idempotency keys: another text is another message.
    var digest: String { String(Base64URL.text(SessionSecret.digest(of: draft)).prefix(22)) }

    /// What lists call it.
    var title: String {
        let text = [self["title"], self["body"], self["target"]].first { !$0.isEmpty }
        return String((text ?? "Untitled").prefix(60))
    }

    /// Fills the form from a message that was sent.
    mutating func fill(from content: FCMMessage) {
        let source = content.source
        self["title"] = content.previewTitle
        self["body"] = content.previewBody
        self["image"] = content.notification?.image ?? ""
        self["label"] = content.label?.rawValue ?? ""
        self["link"] = content.data.first { $0.key == "link" }?.value ?? ""
        self["data"] = content.data.filter { $0.key != "link" }.map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
        let aps = source["apns"]?["payload"]?["aps"]
        self["badge"] = aps?["badge"]?.integerValue.map { String($0) } ?? ""
        self["sound"] = aps?["sound"]?.stringValue ?? ""
        self["category"] = aps?["category"]?.stringValue ?? ""
    }

    // MARK: The request

    /// The body of `messages:send`, as a backend would write it.
    ///
    /// - Parameters:
    ///   - device: sends to this device instead: a test.
    ///   - now: what the expiry counts from.
    func request(in project: Project, test device: String? = nil, at now: Timestamp) -> JSONValue {
        var message: [JSONValue.Member] = []
        var request: [JSONValue.Member] = []
        if let device {
            message.append(Self.deviceMember(device))
        } else if !self["target"].isEmpty {
            switch kind {
            case .device: message.append(Self.deviceMember(self["target"]))
            case .topic: message.append(.init("topic", .string(self["target"])))
            case .condition: message.append(.init("condition", .string(self["target"])))
            case .user: request.append(.init("target", .object([.init("user", .string(self["target"]))])))
            }
        }
        message += content(in: project, at: now)
        request.insert(.init("message", .object(message)), at: 0)
        if device == nil, let delivery = delivery(at: now) { request.append(.init("delivery", delivery)) }
        return .object(request)
    }

    /// What the message says, without its target.
    func content(in project: Project, at now: Timestamp) -> [JSONValue.Member] {
        var message: [JSONValue.Member] = []
        let notification = texts(["title", "body", "image"])
        if !notification.isEmpty { message.append(.init("notification", .object(notification))) }
        let data = dataMembers
        if !data.isEmpty { message.append(.init("data", .object(data))) }
        let platforms = Set(project.apps.values.map(\.platform))
        if platforms.contains(.apple), let block = apple(at: now) { message.append(.init("apns", block)) }
        if platforms.contains(.android), let block = android { message.append(.init("android", block)) }
        if platforms.contains(.web), let block = web { message.append(.init("webpush", block)) }
        if !self["label"].isEmpty {
            message.append(.init("fcm_options", .object([.init("analytics_label", .string(self["label"]))])))
        }
        return message
    }

    private static func deviceMember(_ text: String) -> JSONValue.Member {
        if case .id? = RegistrationReference(rawValue: text) { return .init("fid", .string(text)) }
        return .init("token", .string(text))
    }

    private func texts(_ names: [String]) -> [JSONValue.Member] {
        names.filter { !self[$0].isEmpty }.map { .init($0, .string(self[$0])) }
    }

    private var dataMembers: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        for line in (fields["data"] ?? "").split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let key = String(parts[0]).trimmed
            guard !key.isEmpty else { continue }
            members.append(.init(key, .string(parts.count > 1 ? String(parts[1]).trimmed : "")))
        }
        if !self["link"].isEmpty { members.append(.init("link", .string(self["link"]))) }
        return members
    }

    /// The number of seconds that the message may wait; `nil`: as long as FCM has it.
    private var expirySeconds: Int64? { Int64(self["expiry"]) }

    private func apple(at now: Timestamp) -> JSONValue? {
        var aps: [JSONValue.Member] = []
        // What is no number is sent as it is: the gateway says what is wrong with it.
        if !self["badge"].isEmpty {
            aps.append(.init("badge", Int(self["badge"]).map { .integer($0) } ?? .string(self["badge"])))
        }
        aps += texts(["sound", "category"])
        var block: [JSONValue.Member] = []
        if let seconds = expirySeconds {
            let end = seconds == 0 ? "0" : String(now.seconds + seconds)
            block.append(.init("headers", .object([.init("apns-expiration", .string(end))])))
        }
        if !aps.isEmpty { block.append(.init("payload", .object([.init("aps", .object(aps))]))) }
        return block.isEmpty ? nil : .object(block)
    }

    private var android: JSONValue? {
        var block: [JSONValue.Member] = []
        if let seconds = expirySeconds { block.append(.init("ttl", .string("\(seconds)s"))) }
        var notification: [JSONValue.Member] = texts(["sound"])
        if let badge = Int(self["badge"]) { notification.append(.init("notification_count", .integer(badge))) }
        if !self["category"].isEmpty { notification.append(.init("click_action", .string(self["category"]))) }
        if !notification.isEmpty { block.append(.init("notification", .object(notification))) }
        return block.isEmpty ? nil : .object(block)
    }

    private var web: JSONValue? {
        var block: [JSONValue.Member] = []
        if let seconds = expirySeconds {
            block.append(.init("headers", .object([.init("TTL", .string(String(seconds)))])))
        }
        if self["link"].hasPrefix("https://") {
            block.append(.init("fcm_options", .object([.init("link", .string(self["link"]))])))
        }
        return block.isEmpty ? nil : .object(block)
    }

    private func delivery(at now: Timestamp) -> JSONValue? {
        let parts = self["pace"].split(separator: ":")
        guard parts.count == 2, let number = Int64(parts[1]) else { return nil }
        return parts[0] == "rate"
            ? .object([.init("rate", .number(String(number)))])
            : .object([.init("finishBy", .string((now + .seconds(number * 60)).rfc3339))])
    }
}
