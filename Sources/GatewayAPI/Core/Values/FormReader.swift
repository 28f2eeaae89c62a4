/// The fields of an `application/x-www-form-urlencoded` body: flat, each name once.
struct FormReader: Sendable {
    private var fields: [String: String] = [:]

    /// Reads a body; `nil` when it is broken or has a name twice.
    init?(_ bytes: some Collection<UInt8>) {
        for field in bytes.split(separator: UInt8(ascii: "&")) {
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = parts.count > 1 ? Self.decoded(parts[1]) : "",
                fields.updateValue(value, forKey: name) == nil
            else { return nil }
        }
    }

    /// A field's decoded value; `nil` when it is absent or empty.
    subscript(name: String) -> String? {
        fields[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func decoded(_ bytes: some Collection<UInt8>) -> String? {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(validating: spaced, as: UTF8.self)?.percentDecoded
    }
}
