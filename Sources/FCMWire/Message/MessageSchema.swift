import JSON

/// One message type of the v1 API as the JSON front end sees it: which names there are and what type each has
/// (fcm.v1.json).
package struct MessageSchema: Sendable {
    /// The type of a field.
    package indirect enum FieldType: Sendable {
        /// A string.
        case string
        /// `true` or `false`.
        case bool
        /// A whole number of 32 bits, or its digits in a string.
        case int32
        /// A number of 32 bits, or its text in a string.
        case float
        /// `"3.5s"`.
        case duration
        /// RFC 3339.
        case timestamp
        /// A value's name or its number.
        case enumeration(EnumSchema)
        /// A list.
        case list(FieldType)
        /// An object whose values are strings; the name of the generated entry type.
        case stringMap(entry: String)
        /// An object with a schema.
        case message(MessageSchema)
        /// Any object (google.protobuf.Struct).
        case structure
    }

    /// The full name of the type.
    package let name: String
    /// Names in snake_case and types, in the order of declaration; at most 64.
    package let declarations: [(name: String, type: FieldType)]
    /// Places in ``declarations`` by every accepted spelling.
    private let places: [String: Int]

    /// Declares a type of a proto package.
    init(
        _ name: String, _ declarations: [(name: String, type: FieldType)],
        package: String = MessageSchema.package
    ) {
        self.name = package + name
        self.declarations = declarations
        places = Dictionary(
            declarations.enumerated().flatMap { [($1.name, $0), ($1.name.lowerCamelCase, $0)] },
            uniquingKeysWith: { first, _ in first })
    }

    /// The package of FCM's own types.
    static let package = "google.firebase.fcm.v1."

    /// The declaration of the field that is spelled `name`, and its place.
    func declaration(_ name: String) -> (place: Int, name: String, type: FieldType)? {
        place(of: name).map { ($0, declarations[$0].name, declarations[$0].type) }
    }

    /// The place of the field that is spelled `name` in ``declarations``.
    func place(of name: String) -> Int? { places[name] }
}

/// An enum of the v1 API.
package struct EnumSchema: Sendable {
    /// The full name of the type.
    let name: String
    /// The values' names; each one's number is its place.
    package let values: [String]

    /// Declares an enum.
    init(_ name: String, _ values: [String]) {
        self.name = MessageSchema.package + name
        self.values = values
    }

    /// Whether `value` names one: by name in any case, since the SDKs send `high` and `allow`, by number, or by its
    /// number in a string. A number that stands for nothing is refused, though proto-JSON would hand it on: its
    /// meaning would be unknown.
    func contains(_ value: JSONValue) -> Bool {
        if let text = value.stringValue, values.contains(text.uppercased()) { return true }
        return value.int32Value.map { values.indices.contains(Int($0)) } ?? false
    }
}

extension MessageSchema {
    /// A field that is present, under its snake_case name.
    struct Field {
        let name: String
        let value: JSONValue
    }

    /// The fields of `value` in the order of the text, absent ones (`null`) left out; of the two spellings of a name
    /// the last wins, which only messages of an older version have. Names that the schema does not know are skipped:
    /// ``check(_:at:)`` reports both.
    func fields(of value: JSONValue) -> [Field] {
        guard case .object(let members) = value else { return [] }
        var fields: [Field] = []
        fields.reserveCapacity(members.count)
        // A bit for each field that was there.
        var seen: UInt64 = 0
        for member in members {
            guard let place = place(of: member.name) else { continue }
            let bit: UInt64 = 1 << UInt64(place)
            let name = declarations[place].name
            if seen & bit != 0 { fields.removeAll { $0.name == name } }
            seen |= bit
            if member.value != .null { fields.append(Field(name: name, value: member.value)) }
        }
        return fields
    }

    /// The value of the field `name`.
    func value(_ name: String, of value: JSONValue) -> JSONValue? {
        fields(of: value).first { $0.name == name }?.value
    }

    /// The text of the string field `name`; the empty string is proto's "not set".
    func text(_ name: String, of value: JSONValue) -> String? {
        self.value(name, of: value)?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }
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
