import JSON
import PushModel

extension MessageSchema {
    /// What the front end has against `value`, in the order of the text; of many violations the first ones.
    func check(_ value: JSONValue, at path: String) -> [FieldViolation] {
        // Nearly every message is right: no paths are made for these.
        if accepts(value) { return [] }
        var found: [FieldViolation] = []
        check(value, at: path, into: &found)
        return found
    }

    /// Whether there is nothing against `value`.
    func accepts(_ value: JSONValue) -> Bool {
        switch value {
        case .null: return true
        case .bool, .number, .string, .array: return false
        case .object(let members):
            var seen: UInt64 = 0
            return members.allSatisfy { member in
                guard let place = place(of: member.name) else { return false }
                guard member.value != .null else { return true }
                let bit: UInt64 = 1 << UInt64(place)
                defer { seen |= bit }
                return seen & bit == 0 && declarations[place].type.accepts(member.value)
            }
        }
    }

    fileprivate func check(_ value: JSONValue, at path: String, into found: inout [FieldViolation]) {
        switch value {
        case .null: return
        case .object(let members): checkMembers(members, at: path, into: &found)
        case .array: found.append(.unexpectedList(at: path))
        case .bool, .number, .string: found.append(.invalidValue(value, at: path, type: name.asTypeURL))
        }
    }

    private func checkMembers(_ members: [JSONValue.Member], at path: String, into found: inout [FieldViolation]) {
        // A bit for each field that was there: the parser leaves no name twice, so a second time is the other spelling.
        var seen: UInt64 = 0
        for member in members where found.count < InvalidMessage.violationLimit {
            guard let field = declaration(member.name) else {
                found.append(.unknownName(member.name, at: path))
                continue
            }
            guard member.value != .null else { continue }
            let bit: UInt64 = 1 << UInt64(field.place)
            guard seen & bit == 0 else {
                found.append(.duplicate(member.name, at: "\(path).\(field.name)"))
                continue
            }
            seen |= bit
            // Nearly every scalar is right: no path is made for these.
            guard !field.type.isScalar(member.value) else { continue }
            field.type.check(member.value, at: "\(path).\(field.name)", into: &found)
        }
    }
}

extension MessageSchema.FieldType {
    /// Whether there is nothing against `value`, which is not `null` unless it stands in a list.
    fileprivate func accepts(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.message(let schema), _): schema.accepts(value)
        case (.structure, .object): value.hasFiniteNumbers
        case (.list(let element), .array(let values)): values.allSatisfy(element.accepts)
        case (.stringMap, .object(let members)): members.allSatisfy { $0.value.stringValue != nil }
        default: isScalar(value)
        }
    }

    /// Whether this is the type of a scalar that `value` is.
    fileprivate func isScalar(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.string, .string), (.bool, .bool): true
        case (.int32, _): value.int32Value != nil
        case (.float, _): value.floatValue != nil
        case (.enumeration(let schema), _): schema.contains(value)
        // The text of the error is the front end's.
        case (.duration, .string(let text)): (try? Duration(protoJSON: text)) != nil
        case (.timestamp, .string(let text)): Timestamp(protoJSON: text) != nil
        default: false
        }
    }

    /// Notes what is wrong with `value`, which is not `null` unless it stands in a list.
    fileprivate func check(_ value: JSONValue, at path: String, into found: inout [FieldViolation]) {
        switch (self, value) {
        case (.message(let schema), _): schema.check(value, at: path, into: &found)
        case (.structure, .object(let members)): Self.checkNumbers(members, at: path, into: &found)
        case (.list(let element), .array(let values)): element.checkElements(values, at: path, into: &found)
        case (.stringMap, .object(let members)): Self.checkMap(members, at: path, into: &found)
        case (.stringMap, .array): found.append(.listForMap(at: path))
        case (.duration, .string(let text)):
            do {
                _ = try Duration(protoJSON: text)
            } catch {
                found.append(.invalidText(at: path, type: typeURL, error.message))
            }
        case (.timestamp, .string(let text)) where Timestamp(protoJSON: text) == nil:
            found.append(.invalidText(at: path, type: typeURL, "Invalid time format: \(text.excerpt)"))
        default:
            if !isScalar(value) { found.append(.invalidValue(value, at: path, type: typeURL)) }
        }
    }

    private func checkElements(_ values: [JSONValue], at path: String, into found: inout [FieldViolation]) {
        for (index, value) in values.enumerated() where found.count < InvalidMessage.violationLimit {
            check(value, at: "\(path)[\(index)]", into: &found)
        }
    }

    /// Entries are named by their place in the text.
    private static func checkMap(
        _ members: [JSONValue.Member], at path: String, into found: inout [FieldViolation]
    ) {
        for (index, member) in members.enumerated() where found.count < InvalidMessage.violationLimit {
            switch member.value {
            case .string: continue
            case .null, .bool, .number, .array, .object:
                found.append(.invalidValue(member.value, at: "\(path)[\(index)].value", type: "TYPE_STRING"))
            }
        }
    }

    /// google.protobuf.Struct holds doubles: a number beyond them has no value.
    private static func checkNumbers(
        _ members: [JSONValue.Member], at path: String, into found: inout [FieldViolation]
    ) {
        for member in members { checkNumbers(member.value, at: "\(path).\(member.name.excerpt)", into: &found) }
    }

    private static func checkNumbers(_ value: JSONValue, at path: String, into found: inout [FieldViolation]) {
        guard found.count < InvalidMessage.violationLimit else { return }
        switch value {
        case .number(let text) where !text.isFiniteNumber:
            found.append(.invalidValue(value, at: path, type: "TYPE_DOUBLE"))
        case .object(let members): checkNumbers(members, at: path, into: &found)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                checkNumbers(element, at: "\(path)[\(index)]", into: &found)
            }
        case .null, .bool, .number, .string: return
        }
    }

    /// The type as Google's errors print it; of a list that of its elements.
    private var typeURL: String {
        switch self {
        case .string: "TYPE_STRING"
        case .bool: "TYPE_BOOL"
        case .int32: "TYPE_INT32"
        case .float: "TYPE_FLOAT"
        case .duration: "google.protobuf.Duration".asTypeURL
        case .timestamp: "google.protobuf.Timestamp".asTypeURL
        case .structure: "google.protobuf.Struct".asTypeURL
        case .enumeration(let schema): schema.name.asTypeURL
        case .stringMap(let entry): entry.asTypeURL
        case .message(let schema): schema.name.asTypeURL
        case .list(let element): element.typeURL
        }
    }
}

extension JSONValue {
    /// Whether a double holds each number in it.
    fileprivate var hasFiniteNumbers: Bool {
        switch self {
        case .null, .bool, .string: true
        case .number(let text): text.isFiniteNumber
        case .array(let elements): elements.allSatisfy(\.hasFiniteNumbers)
        case .object(let members): members.allSatisfy(\.value.hasFiniteNumbers)
        }
    }
}

extension String {
    fileprivate var isFiniteNumber: Bool { Double(self)?.isFinite == true }

    /// The full name of a type as Google's errors print it.
    fileprivate var asTypeURL: String { "type.googleapis.com/" + self }
}
