import Hummingbird
import HummingbirdCore
import PushModel

/// The query of a request: names in snake_case or lowerCamelCase, of duplicates the last (fcm.v1.json, `send`).
struct Query: Sendable {
    private let parameters: [(name: String, value: String)]

    /// Reads the query of `uri`.
    init(_ uri: URI) {
        parameters = uri.queryParameters.map { (String($0.key), String($0.value)) }
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

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { text, character in
            if character.isUppercase { text += "_" }
            text += character.lowercased()
        }
    }
}
