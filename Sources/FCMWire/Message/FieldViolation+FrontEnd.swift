package import JSON
package import PushModel

/// The wording of Google's JSON front end, to the letter: senders match on it.
extension FieldViolation {
    /// A name that the schema does not know, in the object at `path` (empty: the request itself).
    package static func unknownName(_ name: String, at path: String) -> FieldViolation {
        FieldViolation(
            field: path, description: unknown(name, at: path, "Cannot find field."), cause: .unknownField)
    }

    /// A scalar of the wrong type; `type` as Google prints it, such as `TYPE_STRING`.
    package static func invalidValue(_ value: JSONValue, at path: String, type: String) -> FieldViolation {
        switch value {
        case .object:
            let (parent, name) = split(path)
            return FieldViolation(
                field: path,
                description: "Invalid value at '\(parent)' (\(name)), Starting an object on a scalar field",
                cause: .wrongType)
        case .array: return unexpectedList(at: path)
        case .null, .bool, .number, .string:
            let text = String(decoding: value.bytes, as: UTF8.self).excerpt
            return FieldViolation(
                field: path, description: "Invalid value at '\(path)' (\(type)), \(text)", cause: .wrongType)
        }
    }

    /// A text that is not what its type writes; `problem` says why.
    package static func invalidText(at path: String, type: String, _ problem: String) -> FieldViolation {
        let name = split(path).name
        return FieldViolation(
            field: path, description: "Invalid value at '\(path)' (\(type)), Field '\(name)', \(problem)",
            cause: .wrongType)
    }

    /// A field that was there already, under its other spelling: the value that is meant is unknown.
    package static func duplicate(_ name: String, at path: String) -> FieldViolation {
        let parent = split(path).parent
        let place = parent.isEmpty ? "" : " at '\(parent)'"
        return FieldViolation(
            field: path,
            description:
                "Invalid JSON payload received. Duplicate name \"\(name.excerpt)\"\(place): The field is given in "
                + "snake_case and in camelCase.")
    }

    /// A list where one value belongs.
    static func unexpectedList(at path: String) -> FieldViolation {
        let (parent, name) = split(path)
        return FieldViolation(
            field: path,
            description: unknown(name, at: parent, "Proto field is not repeating, cannot start list."),
            cause: .wrongType)
    }

    /// A list where a map belongs.
    static func listForMap(at path: String) -> FieldViolation {
        let (parent, name) = split(path)
        return FieldViolation(
            field: path, description: unknown(name, at: parent, "Cannot bind a list to map for field '\(name)'."),
            cause: .wrongType)
    }

    private static func unknown(_ name: String, at path: String, _ problem: String) -> String {
        let place = path.isEmpty ? "" : " at '\(path)'"
        return "Invalid JSON payload received. Unknown name \"\(name.excerpt)\"\(place): \(problem)"
    }

    private static func split(_ path: String) -> (parent: String, name: String) {
        guard let dot = path.lastIndex(of: ".") else { return ("", path) }
        return (String(path[..<dot]), String(path[path.index(after: dot)...]))
    }
}

extension String {
    /// What an error repeats of a sender's text, at most 64 characters: enough to find it, not enough to flood an
    /// answer. Scalars are counted, since one grapheme can be of any length.
    package var excerpt: String {
        guard utf8.count > 64, let end = unicodeScalars.index(startIndex, offsetBy: 64, limitedBy: endIndex),
            end < endIndex
        else { return self }
        return String(unicodeScalars[..<end]) + "…"
    }
}

extension [FieldViolation] {
    /// Adds a violation, unless there are as many as are listed.
    mutating func note(_ field: String, _ description: String, cause: FieldViolation.Cause? = nil) {
        guard count < InvalidMessage.violationLimit else { return }
        append(FieldViolation(field: field, description: description, cause: cause))
    }
}
