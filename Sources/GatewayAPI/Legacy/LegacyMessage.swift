import Crypto
import FCMWire
import JSON
import PushModel

/// What a legacy request says, on its way to the v1 message that says the same (fcm.md §3, §3.1, §10.11, §10.12): from
/// there on there is one kind of message.
struct LegacyMessage {
    /// The longest `time_to_live` in seconds, four weeks.
    private static let timeToLiveLimit: Int64 = 2_419_200
    /// The longest `apns-collapse-id` in bytes.
    private static let collapseIDLimit = 64

    /// By their v1 names: title, body, image.
    private var notification: [JSONValue.Member] = []
    private var data: [JSONValue.Member] = []
    private var android: [JSONValue.Member] = []
    private var template = AppleTemplate()
    private var priority: String?
    private var timeToLive: Int64?
    private var problem: LegacyError?

    /// Reads the message of a request.
    ///
    /// - Throws: an error that names the first member of a wrong type.
    init(_ body: ObjectReader) throws(FCMError) {
        try readOptions(body)
        try readTimeToLive(body)
        if let reader = try body.object("notification", type: "TYPE_MESSAGE") { try readNotification(reader) }
        if let value = body.value("data") { try readData(value) }
    }

    /// The v1 message; otherwise why this one can't be sent.
    ///
    /// - Parameter now: when it is accepted.
    /// - Throws: an error that names what is wrong.
    func content(at now: Timestamp) throws(FCMError) -> Result<FCMMessage, LegacyError> {
        do throws(InvalidMessage) {
            let content = try FCMMessage(source: source(template, at: now))
            if let problem { return .failure(problem) }
            // What shows nothing goes with priority 5 whatever is asked: Apple takes no other for it.
            guard let priority, content.isDisplayed else { return .success(content) }
            var template = template
            template.values[.priority] = .string(priority)
            return .success(try FCMMessage(source: source(template, at: now)))
        } catch {
            if error.violations.contains(where: { $0.cause == .payloadTooLarge }) { return .failure(.messageTooBig) }
            throw FCMError(.badRequest, error.legacyText)
        }
    }
}

// MARK: - Reading

extension LegacyMessage {
    private mutating func readOptions(_ body: ObjectReader) throws(FCMError) {
        if let text = try body.text("priority") {
            let name = text.lowercased()
            guard ["normal", "high"].contains(name) else {
                throw FCMError(.badRequest, "priority must be normal or high, not '\(text.excerpt)'.")
            }
            priority = name
            android.append(.init("priority", .string(name)))
        }
        if let key = try body.text("collapse_key") {
            android.append(.init("collapse_key", .string(key)))
            template.values[.collapseKey] = .string(Self.collapseID(for: key))
        }
        template.values[.contentAvailable] = try body.bool("content_available").map { .bool($0) }
        template.values[.mutableContent] = try body.bool("mutable_content").map { .bool($0) }
        // A bundle id may have a hyphen; then it is no Android package, and none is meant.
        if let name = try body.text("restricted_package_name"), !name.contains("-") {
            android.append(.init("restricted_package_name", .string(name)))
        }
    }

    /// A key that is too long for APNs is still one key: its SHA-256 in hex takes its place.
    private static func collapseID(for key: String) -> String {
        guard key.utf8.count > collapseIDLimit else { return key }
        return SHA256.hash(data: Array(key.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    private mutating func readTimeToLive(_ body: ObjectReader) throws(FCMError) {
        guard let value = body.value("time_to_live") else { return }
        let digits: String
        switch value {
        case .number(let text), .string(let text): digits = text
        case .null, .bool, .array, .object: throw FCMError(.badRequest, "time_to_live must be a number of seconds.")
        }
        guard let seconds = Double(digits) else {
            throw FCMError(.badRequest, "time_to_live must be a number of seconds, not '\(digits.excerpt)'.")
        }
        guard let seconds = Int64(exactly: seconds), (0...Self.timeToLiveLimit).contains(seconds) else {
            problem = .invalidTimeToLive
            return
        }
        timeToLive = seconds
        template.values[.timeToLive] = .number(String(seconds))
        android.append(.init("ttl", .string("\(seconds)s")))
    }

    /// Names that mean nothing to Apple or Android are passed over: FCM hands them to the app.
    private mutating func readNotification(_ reader: ObjectReader) throws(FCMError) {
        for source in Self.texts {
            guard let text = try reader.string(source.notificationKey) else { continue }
            if Self.common.contains(source) { notification.append(.init(source.notificationKey, .string(text))) }
            if source != .image { template.values[source] = .string(text) }
        }
        for source in Self.values { template.values[source] = reader.value(source.notificationKey) }
        var members: [JSONValue.Member] = []
        for (name, v1) in Self.androidTexts {
            if let text = try reader.string(name) { members.append(.init(v1, .string(text))) }
        }
        if case .string(let sound)? = reader.value("sound") { members.append(.init("sound", .string(sound))) }
        for source in [FCMSource.titleLocArgs, .bodyLocArgs] {
            if let list = template.values[source]?.asList {
                template.values[source] = list
                members.append(.init(source.notificationKey, list))
            }
        }
        if !members.isEmpty { android.append(.init("notification", .object(members))) }
    }

    /// The rows of the mapping whose values are strings, and those whose values have rules of their own.
    private static let texts: [FCMSource] = [
        .title, .subtitle, .body, .titleLocKey, .subtitleLocKey, .bodyLocKey, .clickAction, .image, .threadID,
        .interruptionLevel, .targetContentID,
    ]
    private static let values: [FCMSource] = [
        .titleLocArgs, .subtitleLocArgs, .bodyLocArgs, .badge, .sound, .relevanceScore,
    ]
    /// What v1 has for all platforms.
    private static let common: Set<FCMSource> = [.title, .body, .image]
    /// What Android gets, under its v1 name.
    private static let androidTexts = [
        ("icon", "icon"), ("tag", "tag"), ("color", "color"), ("android_channel_id", "channel_id"),
        ("click_action", "click_action"), ("title_loc_key", "title_loc_key"), ("body_loc_key", "body_loc_key"),
    ]

    private mutating func readData(_ value: JSONValue) throws(FCMError) {
        guard case .object(let members) = value else { throw FCMError(.badRequest, "data must be a JSON object.") }
        let hasImage = notification.contains { $0.name == "image" }
        for member in members {
            guard let text = member.value.asText else { continue }
            // `aps` is Apple's own dictionary; `fcm_options` stands in the payload when there is an image.
            let isTaken = member.name == "aps" || hasImage && member.name == "fcm_options"
            if isTaken || member.name.isReservedLegacyKey {
                problem = problem ?? .invalidDataKey
            } else {
                data.append(.init(member.name, .string(text)))
            }
        }
    }
}

// MARK: - Writing

extension LegacyMessage {
    private func source(_ template: AppleTemplate, at now: Timestamp) throws(InvalidMessage) -> JSONValue {
        let composition = try template.composed(keys: .none)
        var members: [JSONValue.Member] = []
        if !notification.isEmpty { members.append(.init("notification", .object(notification))) }
        if !data.isEmpty { members.append(.init("data", .object(data))) }
        if !android.isEmpty { members.append(.init("android", .object(android))) }
        var apns: [JSONValue.Member] = []
        let headers = self.headers(composition.headers, at: now)
        if !headers.isEmpty { apns.append(.init("headers", .object(headers))) }
        let aps = composition.aps
        if !aps.isEmpty { apns.append(.init("payload", .object([.init("aps", .object(aps))]))) }
        if !apns.isEmpty { members.append(.init("apns", .object(apns))) }
        if let timeToLive {
            let headers = JSONValue.object([.init("TTL", .string(String(timeToLive)))])
            members.append(.init("webpush", .object([.init("headers", headers)])))
        }
        return .object(members)
    }

    private func headers(_ headers: APNSHeaders, at now: Timestamp) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if let priority = headers.priority {
            members.append(.init("apns-priority", .string(String(priority.rawValue))))
        }
        if let timeToLive {
            // In full seconds, and not too early.
            let end = (now.milliseconds + 999) / 1000 + timeToLive
            members.append(.init("apns-expiration", .string(timeToLive == 0 ? "0" : String(end))))
        }
        if let id = headers.collapseID { members.append(.init("apns-collapse-id", .string(id))) }
        return members
    }
}

extension InvalidMessage {
    /// Each field with what is wrong, a line each.
    fileprivate var legacyText: String {
        violations.map { "\($0.field): \($0.description)" }.joined(separator: "\n")
    }
}

extension FCMSource {
    /// The name in the legacy API's `notification`.
    fileprivate var notificationKey: String {
        String(rawValue.dropFirst("notification.".count))
    }
}

extension JSONValue {
    /// The value as an entry of `data`, whose values are strings; `nil` for `null`, which counts as absent.
    fileprivate var asText: String? {
        switch self {
        case .null: nil
        case .string(let text), .number(let text): text
        case .bool(let flag): flag ? "true" : "false"
        case .array, .object: String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The list that this is, also as the text of one; `nil` when it is none.
    fileprivate var asList: JSONValue? {
        switch self {
        case .array: return self
        case .string(let text):
            // A text that is no JSON list is a text: what is wrong with it is said where it is used.
            guard let value = try? JSONValue(parsing: text.utf8), case .array = value else { return nil }
            return value
        case .null, .bool, .number, .object: return nil
        }
    }
}

extension String {
    /// Keys of `data` that the legacy API keeps for itself. By bytes: a combining mark behind the prefix must not hide it.
    fileprivate var isReservedLegacyKey: Bool {
        ["from", "message_type"].contains(self)
            || ["google", "gcm"].contains { utf8.starts(with: $0.utf8) }
    }
}
