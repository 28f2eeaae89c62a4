import JSON

/// JSON as people read it.
enum JSONText {
    /// A value over several lines.
    static func pretty(_ value: JSONValue, indent: String = "") -> String {
        let deeper = indent + "  "
        switch value {
        case .object(let members) where !members.isEmpty:
            let lines = members.map { member in
                deeper + text(.string(member.name)) + ": " + pretty(member.value, indent: deeper)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        case .array(let elements) where !elements.isEmpty:
            return "[\n" + elements.map { deeper + pretty($0, indent: deeper) }.joined(separator: ",\n")
                + "\n\(indent)]"
        default: return text(value)
        }
    }

    /// A value in one line.
    static func text(_ value: JSONValue) -> String { String(decoding: value.bytes, as: UTF8.self) }
}

extension JSONValue {
    /// A whole number.
    static func integer(_ number: Int) -> JSONValue { .number(String(number)) }
}
