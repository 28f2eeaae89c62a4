/// The v1 `Message` as the JSON front end sees it: which names there are and what type each has (fcm.v1.json).
///
/// Blocks of other platforms are open: they must be objects, what is in them is passed over.
struct MessageSchema: Sendable {
    /// The type of a field.
    enum FieldType: Sendable {
        /// A string.
        case string
        /// An object whose values are strings; the name of the generated entry type.
        case stringMap(entry: String)
        /// An object with a schema.
        case message(MessageSchema)
        /// An object that is taken as it is; the type's full name.
        case open(String)
    }

    /// The full name of the type.
    let name: String
    /// Types by the name of the field, snake_case.
    private let types: [String: FieldType]
    /// snake_case names by every accepted spelling.
    private let spellings: [String: String]

    private init(_ name: String, _ types: [String: FieldType]) {
        self.name = Self.package + name
        self.types = types
        spellings = Dictionary(
            types.keys.flatMap { [($0, $0), ($0.lowerCamelCase, $0)] }, uniquingKeysWith: { first, _ in first })
    }

    private static let package = "google.firebase.fcm.v1."

    /// `Message`.
    static let message = MessageSchema(
        "Message",
        [
            "name": .string,
            "data": .stringMap(entry: package + "Message.DataEntry"),
            "notification": .message(notification),
            "android": .open(package + "AndroidConfig"),
            "android_v2": .open(package + "AndroidConfigV2"),
            "webpush": .open(package + "WebpushConfig"),
            "apns": .message(apns),
            "fcm_options": .message(options),
            "fid": .string,
            "token": .string,
            "topic": .string,
            "condition": .string,
        ])

    /// `Notification`.
    static let notification = MessageSchema("Notification", ["title": .string, "body": .string, "image": .string])

    /// `FcmOptions`.
    static let options = MessageSchema("FcmOptions", ["analytics_label": .string])

    /// `ApnsFcmOptions`.
    static let apnsOptions = MessageSchema("ApnsFcmOptions", ["analytics_label": .string, "image": .string])

    /// `ApnsConfig`.
    static let apns = MessageSchema(
        "ApnsConfig",
        [
            "headers": .stringMap(entry: package + "ApnsConfig.HeadersEntry"),
            "payload": .open("google.protobuf.Struct"),
            "fcm_options": .message(apnsOptions),
            "live_activity_token": .string,
        ])
}

extension MessageSchema {
    /// A field that is present, under its snake_case name.
    struct Field {
        let name: String
        let value: JSONValue
    }

    /// The fields of `value` in the order of the text, absent ones (`null`) left out; of the two spellings of a name
    /// the last wins. Names that the schema does not know are skipped: ``check(_:at:)`` reports them.
    func fields(of value: JSONValue) -> [Field] {
        guard case .object(let members) = value else { return [] }
        let known = members.compactMap { member in
            spellings[member.name].map { JSONValue.Member($0, member.value) }
        }
        return known.keepingLastOfDuplicates().filter { $0.value != .null }
            .map { Field(name: $0.name, value: $0.value) }
    }

    /// The text of the string field `name`; the empty string is proto's "not set".
    func text(_ name: String, of value: JSONValue) -> String? {
        fields(of: value).first { $0.name == name }?.value.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// What the front end has against `value`, in the order of the text; of many violations the first ones.
    func check(_ value: JSONValue, at path: String) -> [FieldViolation] {
        var found: [FieldViolation] = []
        check(value, at: path, into: &found)
        return found
    }

    private func check(_ value: JSONValue, at path: String, into found: inout [FieldViolation]) {
        switch value {
        case .null: return
        case .object(let members):
            for member in members where found.count < InvalidMessage.violationLimit {
                guard let name = spellings[member.name], let type = types[name] else {
                    found.append(.unknownName(member.name, at: path))
                    continue
                }
                if member.value != .null { Self.check(member.value, as: type, at: "\(path).\(name)", into: &found) }
            }
        case .array: found.append(.unexpectedList(at: path))
        case .bool, .number, .string:
            found.append(.invalidValue(value, at: path, type: Self.typeURL(name)))
        }
    }

    private static func check(
        _ value: JSONValue, as type: FieldType, at path: String, into found: inout [FieldViolation]
    ) {
        switch (type, value) {
        case (.string, .string), (.open, .object): return
        case (.string, _): found.append(.invalidValue(value, at: path, type: "TYPE_STRING"))
        case (.message(let schema), _): schema.check(value, at: path, into: &found)
        case (.open, .array): found.append(.unexpectedList(at: path))
        case (.open(let name), _): found.append(.invalidValue(value, at: path, type: typeURL(name)))
        case (.stringMap, .object(let members)): checkMap(members, at: path, into: &found)
        case (.stringMap, .array): found.append(.listForMap(at: path))
        case (.stringMap(let entry), _): found.append(.invalidValue(value, at: path, type: typeURL(entry)))
        }
    }

    /// Entries are named by their place in the text.
    private static func checkMap(
        _ members: [JSONValue.Member], at path: String, into found: inout [FieldViolation]
    ) {
        for (index, member) in members.enumerated() where found.count < InvalidMessage.violationLimit {
            switch member.value {
            case .string, .null: continue
            case .bool, .number, .array, .object:
                found.append(.invalidValue(member.value, at: "\(path)[\(index)].value", type: "TYPE_STRING"))
            }
        }
    }

    private static func typeURL(_ name: String) -> String { "type.googleapis.com/" + name }
}

extension String {
    /// `analyticsLabel` for `analytics_label`, as proto-JSON spells field names.
    fileprivate var lowerCamelCase: String {
        let words = split(separator: "_")
        return words.dropFirst().reduce(into: String(words.first ?? "")) { text, word in
            text += word.prefix(1).uppercased() + word.dropFirst()
        }
    }
}
