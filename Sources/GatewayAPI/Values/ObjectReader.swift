import PushModel

/// Reads the members of a JSON object as proto-JSON does: snake_case or lowerCamelCase names, of duplicates the last,
/// `null` as absent, unknown names refused. Errors carry Google's own texts and paths.
struct ObjectReader {
    /// Where the object stands, such as `ios`; empty at the root.
    let path: String
    private let members: [JSONValue.Member]

    /// Reads the root of a request.
    init(root: JSONValue) throws(FCMError) {
        guard case .object(let members) = root else {
            throw .badRequest(
                "", "Invalid JSON payload received. Unknown name \"\": Root element must be a message.")
        }
        path = ""
        self.members = members
    }

    private init(path: String, members: [JSONValue.Member]) {
        self.path = path
        self.members = members
    }

    /// Refuses every member that is not one of `names` (given in snake_case).
    func refuseUnknown(except names: [String]) throws(FCMError) {
        // Nearly all requests are right, and have a handful of names.
        if members.count <= names.count, members.allSatisfy({ names.contains($0.name) }) { return }
        let known = Set(names + names.map(Self.camelCase))
        let unknown = members.lazy.filter { !known.contains($0.name) }.prefix(InvalidMessage.violationLimit)
        let violations = unknown.map { FieldViolation.unknownName($0.name, at: path) }
        guard violations.isEmpty else { throw FCMError(InvalidMessage(Array(violations), isFrontEnd: true)) }
    }

    /// A member as it stands.
    func value(_ name: String) -> JSONValue? {
        // Most names are one word, of one spelling.
        let camel = name.utf8.contains(UInt8(ascii: "_")) ? Self.camelCase(name) : name
        guard let member = members.last(where: { $0.name == name || $0.name == camel }) else { return nil }
        if case .null = member.value { return nil }
        return member.value
    }

    /// A string.
    func string(_ name: String) throws(FCMError) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value else { throw wrongType(name, "TYPE_STRING", value) }
        return text
    }

    /// A boolean.
    func bool(_ name: String) throws(FCMError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .bool(let flag) = value else { throw wrongType(name, "TYPE_BOOL", value) }
        return flag
    }

    /// A whole number, as proto-JSON takes it: a number without a fraction, or one in a string.
    func integer(_ name: String) throws(FCMError) -> Int? {
        guard let value = value(name) else { return nil }
        let text: String
        switch value {
        case .number(let digits), .string(let digits): text = digits
        case .null, .bool, .array, .object: throw wrongType(name, "TYPE_INT32", value)
        }
        // `5e2` and `500.0` are whole numbers too.
        guard let number = Int32(text) ?? Double(text).flatMap(Int32.init(exactly:)) else {
            throw wrongType(name, "TYPE_INT32", value)
        }
        return Int(number)
    }

    /// An RFC 3339 time.
    func time(_ name: String) throws(FCMError) -> Timestamp? {
        guard let text = try string(name) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw wrongType(name, "type.googleapis.com/google.protobuf.Timestamp", .string(text))
        }
        return time
    }

    /// An array, its elements as they stand.
    func array(_ name: String) throws(FCMError) -> [JSONValue]? {
        guard let value = value(name) else { return nil }
        guard case .array(let elements) = value else { throw wrongType(name, "TYPE_MESSAGE", value) }
        return elements
    }

    /// An object.
    func object(_ name: String, type: String) throws(FCMError) -> ObjectReader? {
        guard let value = value(name) else { return nil }
        guard case .object(let members) = value else { throw wrongType(name, type, value) }
        return ObjectReader(path: fullPath(name), members: members)
    }

    /// An array of strings.
    func strings(_ name: String) throws(FCMError) -> [String]? {
        guard let value = value(name) else { return nil }
        guard case .array(let elements) = value else { throw wrongType(name, "TYPE_STRING", value) }
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element else { throw wrongType("\(name)[\(index)]", "TYPE_STRING", element) }
            texts.append(text)
        }
        return texts
    }

    /// The path of a member from the root.
    func fullPath(_ name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }

    private func wrongType(_ name: String, _ type: String, _ value: JSONValue) -> FCMError {
        FCMError(InvalidMessage([.invalidValue(value, at: fullPath(name), type: type)], isFrontEnd: true))
    }

    /// Of a name in snake_case, all in ASCII. By bytes: it is asked for most members of each request.
    private static func camelCase(_ name: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.utf8.count)
        var beginsWord = false
        for byte in name.utf8 {
            if byte == UInt8(ascii: "_") {
                beginsWord = !bytes.isEmpty
            } else {
                let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
                bytes.append(beginsWord && isLetter ? byte - 32 : byte)
                beginsWord = false
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
