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
        let known = Set(names + names.map(Self.camelCase))
        let unknown = members.filter { !known.contains($0.name) }
        guard !unknown.isEmpty else { return }
        let place = path.isEmpty ? "" : " at '\(path)'"
        let violations = unknown.map { member in
            FieldViolation(
                field: path,
                description: "Invalid JSON payload received. Unknown name \"\(member.name)\"\(place): "
                    + "Cannot find field.")
        }
        throw FCMError(InvalidMessage(violations, isFrontEnd: true))
    }

    /// A member as it stands.
    func value(_ name: String) -> JSONValue? {
        let camel = Self.camelCase(name)
        guard let member = members.last(where: { $0.name == name || $0.name == camel }), member.value != .null else {
            return nil
        }
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
        let field = fullPath(name)
        return .badRequest(field, "Invalid value at '\(field)' (\(type)), \(Self.excerpt(value))")
    }

    // Google repeats the value; a long one is cut.
    private static func excerpt(_ value: JSONValue) -> String {
        let bytes = value.bytes
        let text = String(decoding: bytes.prefix(100), as: UTF8.self)
        return bytes.count > 100 ? text + "…" : text
    }

    private static func camelCase(_ name: String) -> String {
        let words = name.split(separator: "_")
        return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
