import FCMWire
import Hummingbird
import HummingbirdCore
import JSON
import PushModel

/// The query of a request: names in snake_case or lowerCamelCase, of duplicates the last (fcm.v1.json, `send`).
struct Query: Sendable {
    private let parameters: [(name: String, value: String)]

    /// Reads the query of `uri`.
    init(_ uri: URI) {
        // Values arrive decoded, names do not: Python writes `$.xgafv` as `%24.xgafv`.
        parameters = uri.queryParameters.map { ($0.key.percentDecoded ?? String($0.key), String($0.value)) }
            // As `?&pageSize=1` has it: a pair of nothing.
            .filter { !$0.0.isEmpty || !$0.1.isEmpty }
    }

    /// The parameters that every method of Google's has (the discovery documents' `parameters`), also with `$` in front.
    private static let globalNames: Set<String> = [
        "$.xgafv", "access_token", "alt", "callback", "fields", "key", "oauth_token", "pretty_print", "quota_user",
        "upload_type", "upload_protocol",
    ]

    /// Throws when there is a parameter that is neither one of Google's global ones nor one of `known`, which are in
    /// either spelling: a misspelt `pageToken` would start the list anew, and again.
    func refuseUnknown(known: [String]) throws(FCMError) {
        let known = Set(known.map(Self.snakeCase))
        var violations: [FieldViolation] = []
        for (name, _) in parameters {
            let snake = Self.snakeCase(name)
            let plain = snake.hasPrefix("$") && snake != "$.xgafv" ? String(snake.dropFirst()) : snake
            guard !known.contains(snake), !Self.globalNames.contains(plain) else { continue }
            violations.append(
                FieldViolation(
                    field: name.excerpt,
                    description: "Unknown name \"\(name.excerpt)\": Cannot bind query parameter."))
        }
        guard !violations.isEmpty else { return }
        var error = FCMError(
            .badRequest, violations.map(\.description).joined(separator: "\n"), reason: .unknownParameter)
        error.violations = violations
        throw error
    }

    /// A parameter's decoded text; `nil` when it is absent or empty. `name` is in lowerCamelCase.
    subscript(name: String) -> String? {
        let snake = Self.snakeCase(name)
        guard let value = parameters.last(where: { $0.name == name || $0.name == snake })?.value, !value.isEmpty else {
            return nil
        }
        return value
    }

    /// `pageSize`: from 1 to `maximum`; 0 and absent mean `fallback`, more than `maximum` means `maximum`.
    func pageSize(default fallback: Int, maximum: Int) throws(FCMError) -> Int {
        guard let text = self["pageSize"] else { return fallback }
        guard let size = Int(text), size >= 0 else {
            throw .badRequest("page_size", "The page size must be a whole number of 0 or more, not '\(text.excerpt)'.")
        }
        return size == 0 ? fallback : min(size, maximum)
    }

    /// A boolean; absent means false.
    func flag(_ name: String) throws(FCMError) -> Bool {
        switch self[name]?.lowercased() {
        case nil, "false", "0": return false
        case "true", "1": return true
        case .some(let text):
            throw .badRequest(
                Self.snakeCase(name), "Invalid value at '\(Self.snakeCase(name))' (TYPE_BOOL), \"\(text.excerpt)\"")
        }
    }

    /// An RFC 3339 time.
    func time(_ name: String) throws(FCMError) -> Timestamp? {
        guard let text = self[name] else { return nil }
        // A '+' in front of an offset is often left unencoded, and stays as it is here.
        guard let time = Timestamp(rfc3339: text) else {
            throw .badRequest(
                Self.snakeCase(name), "'\(text.excerpt)' is not an RFC 3339 time such as 2026-01-31T12:00:00Z.")
        }
        return time
    }

    /// A google.protobuf.Duration of 0 or more; what is longer than `limit` counts as that. `nil`: none, or zero.
    func wait(_ name: String, atMost limit: Duration) throws(FCMError) -> Duration? {
        guard let text = self[name] else { return nil }
        guard let duration = try? Duration(protoJSON: text), duration >= .zero else {
            throw .badRequest(
                Self.snakeCase(name), "'\(text.excerpt)' is not a duration of 0 or more such as \"30s\".")
        }
        return duration > .zero ? min(duration, limit) : nil
    }

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { text, character in
            if character.isUppercase { text += "_" }
            text += character.lowercased()
        }
    }
}
