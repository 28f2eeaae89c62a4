import FCMWire
import JSON
import PushModel

/// Reads the members of a JSON object as proto-JSON does: snake_case or lowerCamelCase names but not both, `null` as
/// absent, unknown names refused. Errors carry Google's own texts and paths.
struct ObjectReader {
    /// Where the object stands, such as `ios`; empty at the root.
    let path: String
    private let members: [JSONValue.Member]

    /// Reads the root of a request.
    init(root: JSONValue) throws(FCMError) {
        guard case .object(let members) = root else {
            throw .badRequest(
                "", "Invalid JSON payload received. Unknown name \"\": Root element must be a message.",
                reason: .malformedJSON)
        }
        path = ""
        self.members = members
    }

    private init(path: String, members: [JSONValue.Member]) {
        self.path = path
        self.members = members
    }

    /// Refuses every member that is not one of `names` (given in snake_case), and a second one of the same name in its
    /// other spelling.
    func refuseUnknown(except names: [String]) throws(FCMError) {
        // Nearly all requests are right, and have a handful of names.
        if members.count <= names.count, members.allSatisfy({ names.contains($0.name) }) { return }
        let known = Dictionary(
            names.flatMap { [($0, $0), (Self.camelCase($0), $0)] }, uniquingKeysWith: { first, _ in first })
        var seen: Set<String> = []
        var violations: [FieldViolation] = []
        for member in members where violations.count < InvalidMessage.violationLimit {
            guard let name = known[member.name] else {
                violations.append(.unknownName(member.name, at: path))
                continue
            }
            if member.value != .null, !seen.insert(name).inserted {
                violations.append(.duplicate(member.name, at: fullPath(name)))
            }
        }
        guard violations.isEmpty else { throw FCMError(InvalidMessage(violations, isFrontEnd: true)) }
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

    /// A string, or a number as it is written: clients of Dynamic Links send either.
    func lenientString(_ name: String) throws(FCMError) -> String? {
        switch value(name) {
        case nil: return nil
        case .string(let text)?: return text
        case .number(let digits)?: return digits
        case .some(let value): throw wrongType(name, "TYPE_STRING", value)
        }
    }

    /// A boolean, or 0 or 1, also as text: clients of Dynamic Links send all of these. An empty text is none.
    func lenientBool(_ name: String) throws(FCMError) -> Bool? {
        guard let value = value(name) else { return nil }
        switch value {
        case .bool(let flag): return flag
        case .number("1"), .string("1"), .string("true"): return true
        case .number("0"), .string("0"), .string("false"): return false
        case .string(""): return nil
        default: throw wrongType(name, "TYPE_BOOL", value)
        }
    }

    /// An enum by its name, or by its number in the order of its cases, which may stand in a string.
    func choice<Value: RawRepresentable & CaseIterable>(
        _ name: String, of values: Value.Type, type: String
    ) throws(FCMError) -> Value? where Value.RawValue == String {
        guard let value = value(name) else { return nil }
        if let found = value.stringValue.flatMap(Value.init(rawValue:)) { return found }
        let all = Array(Value.allCases)
        guard let number = value.int32Value, all.indices.contains(Int(number)) else {
            throw wrongType(name, type, value)
        }
        return all[Int(number)]
    }

    /// A whole number, as proto-JSON takes it: a number without a fraction, or one in a string.
    func integer(_ name: String) throws(FCMError) -> Int? {
        guard let value = value(name) else { return nil }
        guard let number = value.int32Value else { throw wrongType(name, "TYPE_INT32", value) }
        return Int(number)
    }

    /// An RFC 3339 time.
    func time(_ name: String) throws(FCMError) -> Timestamp? {
        guard let text = try string(name) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw invalidText(
                name, "type.googleapis.com/google.protobuf.Timestamp", "Invalid time format: \(text.excerpt)")
        }
        return time
    }

    /// A google.protobuf.Duration of 0 or more such as `"3.5s"`, or a number of seconds.
    func duration(_ name: String) throws(FCMError) -> Duration? {
        guard let value = value(name) else { return nil }
        let type = "type.googleapis.com/google.protobuf.Duration"
        let duration: Duration?
        switch value {
        case .number(let digits):
            duration = Double(digits).flatMap { (0..<1e12).contains($0) ? .milliseconds(Int64($0 * 1000)) : nil }
        case .string(let text):
            do throws(DurationSyntaxError) {
                duration = try Duration(protoJSON: text)
            } catch {
                throw invalidText(name, type, error.message)
            }
        case .null, .bool, .array, .object: duration = nil
        }
        guard let duration, duration >= .zero else { throw wrongType(name, type, value) }
        return duration
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

    /// An array of objects.
    func objects(_ name: String) throws(FCMError) -> [ObjectReader]? {
        guard let elements = try array(name) else { return nil }
        var objects: [ObjectReader] = []
        objects.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard case .object(let members) = element else {
                throw wrongType("\(name)[\(index)]", "TYPE_MESSAGE", element)
            }
            objects.append(ObjectReader(path: "\(fullPath(name))[\(index)]", members: members))
        }
        return objects
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

    private func invalidText(_ name: String, _ type: String, _ problem: String) -> FCMError {
        FCMError(InvalidMessage([.invalidText(at: fullPath(name), type: type, problem)], isFrontEnd: true))
    }

    /// Of a name in snake_case, all in ASCII. By bytes: it is asked for most members of each request.
    static func camelCase(_ name: String) -> String {
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
