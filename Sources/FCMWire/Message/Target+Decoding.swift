package import JSON
package import PushModel

extension FCMMessage {
    /// Reads the target of a `message` object: one of `fid`, `token`, `topic` and `condition`; `nil` when it names
    /// none.
    ///
    /// - Throws: ``InvalidMessage`` that names the field, also for more than one target.
    package static func target(of source: JSONValue) throws(InvalidMessage) -> Target? {
        try target(in: MessageSchema.message.fields(of: source))
    }

    /// The message's own target, as ``target(of:)`` reads it.
    package func target() throws(InvalidMessage) -> Target? { try Self.target(in: fields) }

    private static func target(in fields: [MessageSchema.Field]) throws(InvalidMessage) -> Target? {
        let named = fields.filter { Target.fieldNames.contains($0.name) }
        guard let first = named.first else { return nil }
        guard case .string(let text) = first.value else {
            let violation = FieldViolation.invalidValue(
                first.value, at: "message.\(first.name)", type: "TYPE_STRING")
            throw InvalidMessage([violation], isFrontEnd: true)
        }
        if named.count > 1 {
            let text = "oneof field 'target' is already set. Cannot set '\(named[1].name)'"
            throw InvalidMessage(
                [FieldViolation(field: "message", description: "Invalid value at 'message' (oneof), \(text)")],
                isFrontEnd: true)
        }
        return try Target(field: first.name, text: text)
    }
}

extension Target {
    fileprivate static let fieldNames: [String] = ["fid", "token", "topic", "condition"]

    /// The text in front of a topic's name that the Admin SDKs strip and users of the REST API may not.
    private static let topicPrefix = "/topics/"

    fileprivate init(field: String, text: String) throws(InvalidMessage) {
        let problem: String
        switch field {
        case "token":
            self = .token(text)
            return
        case "fid":
            if let id = RegistrationID(rawValue: text) {
                self = .registration(id)
                return
            }
            problem = "The fid is not a valid Firebase installation ID."
        case "topic":
            let name = text.hasPrefix(Self.topicPrefix) ? String(text.dropFirst(Self.topicPrefix.count)) : text
            if let topic = Topic(rawValue: name) {
                self = .topic(topic)
                return
            }
            problem = "Malformed topic name: it must match [a-zA-Z0-9-_.~%]{1,900}."
        default:
            do {
                self = .condition(try Condition(parsing: text))
                return
            } catch {
                problem = "Malformed condition at byte \(error.offset): \(error.message)."
            }
        }
        throw InvalidMessage([FieldViolation(field: "message.\(field)", description: problem)])
    }
}
