import JSON
import PushModel

/// FCM's rules for the blocks of platforms that nothing is sent to (fcm.md §2.2, §2.3, §2.5). Names and types are right
/// already; the blocks stay as they are.
struct PlatformRules {
    /// What is wrong, in the order of the text.
    private(set) var violations: [FieldViolation] = []
    /// The fields of the message: what a block does not say is said there.
    private let common: [MessageSchema.Field]

    /// FCM's limit on keys and values.
    static let payloadLimitBytes = 4096
    /// 28 days, the longest that FCM keeps a message.
    static let longestTimeToLive = Duration.seconds(2_419_200)

    /// Prepares the rules for a message.
    init(message fields: [MessageSchema.Field]) {
        common = fields
    }

    /// Looks at one block; at other fields of the message not.
    mutating func check(_ block: MessageSchema.Field) {
        let path = "message.\(block.name)"
        switch block.name {
        case "android": checkAndroid(block.value, of: .android, at: path)
        case "android_v2": checkAndroid(block.value, of: .androidV2, at: path)
        case "webpush": checkWebpush(block.value, at: path)
        default: return
        }
    }

    // MARK: - Android

    private mutating func checkAndroid(_ value: JSONValue, of schema: MessageSchema, at path: String) {
        let fields = schema.fields(of: value)
        var notification: JSONValue?
        for field in fields {
            let place = "\(path).\(field.name)"
            switch field.name {
            case "ttl": checkTimeToLive(field.value, at: place)
            case "restricted_package_name": checkPackageName(field.value, at: place)
            case "data": checkData(field.value, at: place)
            case "fcm_options":
                _ = MessageSchema.androidOptions.label(in: field.value, at: place, noting: &violations)
            case "notification":
                notification = field.value
                checkNotification(field.value, of: .androidNotification, at: place)
            case "remote_notification":
                notification = MessageSchema.androidRemoteNotification.value("notification", of: field.value)
                checkNotification(
                    notification ?? .null, of: .androidNotificationV2, at: "\(place).notification",
                    imageNeedsTLS: true)
            default: continue
            }
        }
        if fields.contains(where: { $0.name == "remote_notification" }),
            fields.contains(where: { $0.name == "background_sync" })
        {
            violations.note(
                path, "remote_notification and background_sync exclude each other: set only one of them.")
        }
        checkSize("Android", fields.first { $0.name == "data" }?.value, notification, at: path)
    }

    /// What is finer than a second is cut off.
    private mutating func checkTimeToLive(_ value: JSONValue, at path: String) {
        guard let text = value.stringValue, let time = try? Duration(protoJSON: text) else { return }
        guard time < .zero || time >= Self.longestTimeToLive + .seconds(1) else { return }
        violations.note(path, "The ttl must be from 0 to \(Self.longestTimeToLive.components.seconds) seconds.")
    }

    /// A name that no app can have would match none.
    private mutating func checkPackageName(_ value: JSONValue, at path: String) {
        guard let text = value.stringValue, !text.isEmpty, !text.isPackageName else { return }
        violations.note(path, "The restricted_package_name is not the name of an Android package.")
    }

    private mutating func checkNotification(
        _ value: JSONValue, of schema: MessageSchema, at path: String, imageNeedsTLS: Bool = false
    ) {
        let fields = schema.fields(of: value)
        for field in fields {
            let place = "\(path).\(field.name)"
            switch field.name {
            case "color":
                guard let text = field.value.stringValue, !text.isEmpty, !text.isColor else { continue }
                violations.note(place, "A color is written as #rrggbb.")
            case "image" where imageNeedsTLS: checkURL(field.value, at: place)
            case "body_loc_args", "title_loc_args":
                guard case .array(let arguments) = field.value, !arguments.isEmpty else { continue }
                let key = field.name.dropLast("args".count) + "key"
                let isNamed = fields.contains { $0.name == key && $0.value != .string("") }
                if !isNamed { violations.note(place, "\(field.name) needs \(key) beside it.") }
            case "vibrate_timings":
                guard case .array(let timings) = field.value else { continue }
                for (index, timing) in timings.enumerated() { checkLength(timing, at: "\(place)[\(index)]") }
            case "light_settings": checkLight(field.value, at: place)
            default: continue
            }
        }
    }

    /// `color` and both durations, or the device blinks in no way.
    private mutating func checkLight(_ value: JSONValue, at path: String) {
        let schema = MessageSchema.lightSettings
        let fields = schema.fields(of: value)
        for name in schema.declarations.map(\.name) where !fields.contains(where: { $0.name == name }) {
            violations.note("\(path).\(name)", "light_settings needs \(name).")
        }
        for field in fields {
            guard field.name == "color" else {
                checkLength(field.value, at: "\(path).\(field.name)")
                continue
            }
            for part in MessageSchema.color.fields(of: field.value) {
                guard let share = part.value.floatValue, !(0...1).contains(share) else { continue }
                violations.note("\(path).color.\(part.name)", "\(part.name) must be a number from 0 to 1.")
            }
        }
    }

    private mutating func checkLength(_ value: JSONValue, at path: String) {
        // What is no duration was refused with its type.
        guard let text = value.stringValue, let length = try? Duration(protoJSON: text), length < .zero else { return }
        violations.note(path, "A duration must not be negative.")
    }

    // MARK: - Web

    private mutating func checkWebpush(_ value: JSONValue, at path: String) {
        let fields = MessageSchema.webpush.fields(of: value)
        for field in fields {
            let place = "\(path).\(field.name)"
            switch field.name {
            case "headers": checkHeaders(field.value, at: place)
            case "data": checkData(field.value, at: place)
            case "fcm_options":
                _ = MessageSchema.webpushOptions.label(in: field.value, at: place, noting: &violations)
                if let link = MessageSchema.webpushOptions.value("link", of: field.value) {
                    checkURL(link, at: "\(place).link")
                }
            default: continue
            }
        }
        checkSize(
            "Web", fields.first { $0.name == "data" }?.value, fields.first { $0.name == "notification" }?.value,
            at: path)
    }

    /// Those of RFC 8030 §5 are read; FCM's own examples have others, which need only be headers.
    private mutating func checkHeaders(_ value: JSONValue, at path: String) {
        guard case .object(let members) = value else { return }
        var names: Set<String> = []
        for member in members {
            guard case .string(let text) = member.value else { continue }
            let name = member.name.lowercased()
            let place = "\(path).\(member.name.excerpt)"
            guard names.insert(name).inserted else {
                violations.note(place, "The header \(name.excerpt) is given twice.")
                continue
            }
            if let expectation = WebpushHeader.expectation(of: text, for: name) {
                violations.note(place, "Invalid value for the header \(name.excerpt): it must be \(expectation).")
            }
        }
    }

    // MARK: - Both

    private mutating func checkData(_ value: JSONValue, at path: String) {
        guard case .object(let members) = value else { return }
        for (index, member) in members.enumerated() where member.name.isReservedDataKey {
            violations.note("\(path)[\(index)].key", "Invalid data payload key: \(member.name.excerpt)")
        }
    }

    private mutating func checkURL(_ value: JSONValue, at path: String) {
        guard let text = value.stringValue, !text.isEmpty, !text.isURLWithTLS else { return }
        violations.note(path, "It must be an https URL.")
    }

    private mutating func checkSize(
        _ platform: String, _ data: JSONValue?, _ notification: JSONValue?, at path: String
    ) {
        // An empty map is none (protobuf's JSON mapping).
        let parts = [(data == .object([]) ? nil : data) ?? common("data"), notification ?? common("notification")]
        let bytes = parts.reduce(0) { $0 + ($1?.textBytes ?? 0) }
        guard bytes > Self.payloadLimitBytes else { return }
        violations.note(
            path,
            "\(platform) message is too big: its data and notification have \(bytes) bytes, the limit is "
                + "\(Self.payloadLimitBytes).",
            cause: .payloadTooLarge)
    }

    private func common(_ name: String) -> JSONValue? {
        common.first { $0.name == name }?.value
    }
}

/// What the headers of a Web Push request take (RFC 8030 §5).
private enum WebpushHeader {
    static let urgencies = ["very-low", "low", "normal", "high"]

    /// What a header must be, when `value` is not it; `name` in lower case.
    static func expectation(of value: String, for name: String) -> String? {
        switch name {
        case "ttl":
            let isNumber = (1...10).contains(value.utf8.count) && value.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return isNumber ? nil : "whole seconds"
        case "urgency":
            return urgencies.contains(value) ? nil : "one of " + urgencies.joined(separator: ", ")
        case "topic": return value.isMade(of: "-_", upTo: 32) ? nil : "1 to 32 of [A-Za-z0-9_-]"
        default:
            // RFC 9110 §5.6.2.
            guard name.isMade(of: "!#$%&'*+-.^_`|~", upTo: 128) else { return "under a name that a header can have" }
            return value.isFieldValue ? nil : "text without control characters, and no blank at either end"
        }
    }
}

extension JSONValue {
    /// The bytes of all names and values.
    var textBytes: Int {
        switch self {
        case .string(let text), .number(let text): text.utf8.count
        case .array(let elements): elements.reduce(0) { $0 + $1.textBytes }
        case .object(let members): members.reduce(0) { $0 + $1.name.utf8.count + $1.value.textBytes }
        case .null, .bool: 1
        }
    }
}

extension String {
    /// `#rrggbb`.
    fileprivate var isColor: Bool {
        utf8.count == 7 && utf8.first == UInt8(ascii: "#")
            && utf8.dropFirst().allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
            }
    }

    /// Two words or more with dots between them, each of letters, digits and underscores, a letter first.
    fileprivate var isPackageName: Bool {
        let words = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return words.count > 1
            && words.allSatisfy { word in
                guard let first = word.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20) else {
                    return false
                }
                return String(Substring(word)).isMade(of: "_", upTo: 255)
            }
    }

    /// `https://`, a host, and nothing that a URL can't have.
    var isURLWithTLS: Bool {
        let scheme = "https://"
        guard prefix(scheme.count).lowercased() == scheme, let first = utf8.dropFirst(scheme.count).first else {
            return false
        }
        return !"/?#:@".utf8.contains(first) && utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
    }
}
