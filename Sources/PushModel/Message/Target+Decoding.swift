extension MessageContent {
    /// Reads the target of a `message` object: exactly one of `fid`, `token` and `topic` (`condition` is refused with
    /// a clear text until conditions are supported).
    ///
    /// - Throws: ``InvalidMessage`` that names the field.
    public static func target(of source: JSONValue) throws(InvalidMessage) -> Target {
        let violations = MessageSchema.message.check(source, at: "message")
        guard violations.isEmpty else { throw InvalidMessage(violations, isFrontEnd: true) }
        let named = MessageSchema.message.fields(of: source).filter { Target.fieldNames.contains($0.name) }
        guard let first = named.first, case .string(let text) = first.value else {
            throw InvalidMessage([
                FieldViolation(field: "message", description: "Recipient of the message is not set.")
            ])
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
    fileprivate static let fieldNames: Set<String> = ["fid", "token", "topic", "condition"]

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
            problem = "Conditions are not supported yet: send to a topic, a token or a fid."
        }
        throw InvalidMessage([FieldViolation(field: "message.\(field)", description: problem)])
    }
}

/// How callers name one registration: FCM takes a FID wherever it takes a token.
public enum RegistrationReference: Hashable, Sendable {
    /// By its FID.
    case id(RegistrationID)
    /// By its token.
    case token(RegistrationToken)

    /// Reads what stands in a `token` field or in a path; `nil` when it has neither form (FCM: 400
    /// INVALID_ARGUMENT, while a well-formed name of nothing is 404 UNREGISTERED).
    public init?(rawValue: String) {
        if let id = RegistrationID(rawValue: rawValue) {
            self = .id(id)
        } else if let token = RegistrationToken(rawValue: rawValue) {
            self = .token(token)
        } else {
            return nil
        }
    }
}
