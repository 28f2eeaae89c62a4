/// Reads a send request as strictly as Google does: names and types first, then FCM's own rules.
struct GoogleMessageCheck {
    /// A request that nothing is wrong with.
    struct Message {
        /// The token, FID, topic or condition.
        let target: String
        /// Whether the target is a topic or a condition.
        let isBroadcast: Bool
        let isDryRun: Bool
    }

    private static let payloadLimitBytes = 4096
    private static let longestSeconds: Int64 = 2_419_200
    private static let targets = ["token", "fid", "topic", "condition"]

    private var violations: [(field: String, description: String)] = []

    /// Reads a body.
    static func read(_ body: [UInt8]) -> Result<Message, GoogleRefusal> {
        guard let request = String(validating: body, as: UTF8.self).flatMap({ JSON.read(Array($0.utf8)) }),
            case .object = request
        else {
            return .failure(
                GoogleRefusal(
                    status: GoogleStatus(
                        code: 400, status: "INVALID_ARGUMENT",
                        message: "Invalid JSON payload received. Unexpected token.")))
        }
        var check = GoogleMessageCheck()
        check.look(at: request, as: .request, path: "")
        guard check.violations.isEmpty else {
            return .failure(
                GoogleRefusal(
                    status: GoogleStatus(
                        code: 400, status: "INVALID_ARGUMENT",
                        message: check.violations.map(\.description).joined(separator: "\n"),
                        details: [.fields(check.violations)])))
        }
        return rules(of: request)
    }

    // MARK: - Names and types

    private mutating func look(at value: JSON, as type: GoogleType, path: String) {
        switch (type, value) {
        case (_, .null): return
        case (.object(let fields), .object(let members)):
            var seen: Set<String> = []
            for member in members {
                let name = Self.snakeCase(member.key)
                guard let type = fields[name] else {
                    note(
                        path,
                        "Invalid JSON payload received. Unknown name \"\(member.key)\""
                            + (path.isEmpty ? "" : " at '\(path)'") + ": Cannot find field.")
                    continue
                }
                if !seen.insert(name).inserted { note(path, "Invalid value at '\(path)', duplicate field \(name)") }
                look(at: member.value, as: type, path: path.isEmpty ? name : "\(path).\(name)")
            }
        case (.texts, .object(let members)):
            for (index, member) in members.enumerated() where member.value.text == nil {
                noteType(.string, "\(path)[\(index)].value", member.value)
            }
        case (.list(let element), .array(let values)):
            for (index, value) in values.enumerated() { look(at: value, as: element, path: "\(path)[\(index)]") }
        default: if !Self.fits(value, type) { noteType(type, path, value) }
        }
    }

    private static func fits(_ value: JSON, _ type: GoogleType) -> Bool {
        switch (type, value) {
        case (.string, .string), (.bool, .bool), (.structure, .object), (.float, .number): return true
        case (.int32, .number(let text)), (.int32, .string(let text)): return Int32(text) != nil
        case (.float, .string(let text)): return Float(text) != nil
        case (.duration, .string(let text)): return seconds(text) != nil
        case (.timestamp, .string(let text)): return text.utf8.count >= 20 && text.contains("T")
        case (.choice(let names), .string(let text)): return names.contains(text.uppercased())
        case (.choice(let names), .number(let text)): return Int(text).map { names.count > $0 && $0 >= 0 } ?? false
        default: return false
        }
    }

    private mutating func note(_ field: String, _ description: String) {
        violations.append((field, description))
    }

    private mutating func noteType(_ type: GoogleType, _ path: String, _ value: JSON) {
        note(path, "Invalid value at '\(path)' (\(type.name)), \(Self.excerpt(of: value))")
    }

    private static func excerpt(of value: JSON) -> String {
        switch value {
        case .string(let text): jsonString(text)
        case .number(let text): text
        case .bool(let isTrue): "\(isTrue)"
        case .null: "null"
        case .array: "[]"
        case .object: "{}"
        }
    }

    private static func snakeCase(_ name: String) -> String {
        // A name with a capital is camel case; both spellings are taken (proto-JSON).
        name.reduce(into: "") { text, letter in
            if letter.isASCII, letter.isUppercase { text += "_" + letter.lowercased() } else { text.append(letter) }
        }
    }

    /// Whole seconds of `"3.5s"`.
    private static func seconds(_ text: String) -> Int64? {
        guard text.hasSuffix("s") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = Int64(parts[0]) else { return nil }
        return parts.count == 1 || UInt64(parts[1]) != nil && parts[1].utf8.count <= 9 ? whole : nil
    }

    // MARK: - FCM's rules

    private static func rules(of request: JSON) -> Result<Message, GoogleRefusal> {
        let message = Fields(request)["message"] ?? .object([])
        let fields = Fields(message)
        let given = targets.filter { fields[$0]?.text.map { !$0.isEmpty } ?? false }
        guard let name = given.first, let target = fields[name]?.text else {
            return refused("Recipient of the message is not set.", "message")
        }
        if given.count > 1 {
            return refused(
                "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(given[1])'",
                "message")
        }
        if let refusal = refusal(of: target, name) ?? refusal(of: fields) { return .failure(refusal) }
        let isDryRun = Fields(request)["validate_only"] == .bool(true)
        return .success(
            Message(target: target, isBroadcast: name == "topic" || name == "condition", isDryRun: isDryRun))
    }

    private static func refused(_ message: String, _ field: String) -> Result<Message, GoogleRefusal> {
        .failure(GoogleRefusal(status: .invalid(message, field: field)))
    }

    private static func refusal(of target: String, _ name: String) -> GoogleRefusal? {
        switch name {
        case "token" where !isToken(target) && !isFID(target):
            GoogleRefusal(
                status: .invalid(
                    "The registration token is not a valid FCM registration token", field: "message.token"))
        case "fid" where !isFID(target):
            GoogleRefusal(status: .invalid("The installation id is not valid", field: "message.fid"))
        case "topic" where target.utf8.count > 900 || target.contains("/"):
            GoogleRefusal(status: .invalid("Invalid topic name: \(target.prefix(40))", field: "message.topic"))
        default: nil
        }
    }

    private static func refusal(of fields: Fields) -> GoogleRefusal? {
        if fields["android"] != nil, fields["android_v2"] != nil {
            return GoogleRefusal(
                status: .invalid("Only one of android and android_v2 can be set.", field: "message.android_v2"))
        }
        let (blockName, block) =
            fields["android_v2"].map { ("android_v2", Fields($0)) }
            ?? ("android", Fields(fields["android"] ?? .object([])))
        if let text = block["ttl"]?.text, let seconds = seconds(text), text.hasPrefix("-") || seconds > longestSeconds {
            return GoogleRefusal(status: .invalid("Invalid TTL: \(text)", field: "message.\(blockName).ttl"))
        }
        for (place, data) in [("message.data", fields["data"]), ("message.\(blockName).data", block["data"])] {
            guard case .object(let members)? = data else { continue }
            if let member = members.first(where: { isReserved($0.key) }) {
                return GoogleRefusal(status: .invalid("Invalid data payload key: \(member.key)", field: place))
            }
        }
        let data = block["data"] ?? fields["data"]
        let remote = block["remote_notification"].flatMap { Fields($0)["notification"] }
        let notification = block["notification"] ?? remote ?? fields["notification"]
        guard (data?.countedBytes ?? 0) + (notification?.countedBytes ?? 0) <= payloadLimitBytes else {
            return GoogleRefusal(status: .invalid("Android message is too big", field: "message"))
        }
        return nil
    }

    private static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }

    private static func isToken(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return text.utf8.count <= 4096 && parts.count == 2 && parts.allSatisfy { $0.utf8.count >= 8 && isWord($0) }
    }

    private static func isFID(_ text: String) -> Bool {
        text.utf8.count == 22 && isWord(text[...]) && "cdef".contains(text.prefix(1))
    }

    private static func isWord(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// The members of an object under both spellings of a name.
    private struct Fields {
        private var values: [String: JSON] = [:]

        init(_ value: JSON) {
            guard case .object(let members) = value else { return }
            for member in members where member.value != .null { values[snakeCase(member.key)] = member.value }
        }

        subscript(name: String) -> JSON? { values[name] }
    }
}

/// A request that is refused.
struct GoogleRefusal: Error {
    let status: GoogleStatus
}

extension JSON {
    /// The bytes of all names and values.
    fileprivate var countedBytes: Int {
        switch self {
        case .string(let text), .number(let text): text.utf8.count
        case .array(let elements): elements.reduce(0) { $0 + $1.countedBytes }
        case .object(let members): members.reduce(0) { $0 + $1.key.utf8.count + $1.value.countedBytes }
        case .null, .bool: 1
        }
    }
}
