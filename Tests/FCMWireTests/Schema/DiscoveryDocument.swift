import FCMWire
import Foundation
import JSON
import PushModel
import Testing

/// The `Message` tree of Google's discovery document, field by field.
struct DiscoveryDocument: Sendable {
    /// What a field holds.
    indirect enum Kind: Hashable, Sendable {
        case string, bool, int32, float, duration, timestamp
        case enumeration([String])
        case list(Kind)
        case stringMap
        case message
        case structure
    }

    /// A field of the tree.
    struct Field: Sendable, CustomTestStringConvertible {
        /// Names from below the message on, in lowerCamelCase.
        let camelPath: [String]
        let kind: Kind

        /// The same in snake_case.
        var path: [String] { camelPath.map(\.snakeCase) }

        /// As violations name it.
        var text: String { (["message"] + path).joined(separator: ".") }

        var testDescription: String { text }
    }

    /// Every field below the message, parents first.
    let fields: [Field]

    /// The document beside the tests.
    static let fcm = Result {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Resources/fcm.v1.json")
        return try DiscoveryDocument(JSONValue(parsing: Data(contentsOf: file)))
    }

    /// Its fields; none when it can't be read, which one test reports.
    static var fcmFields: [Field] { (try? fcm.get().fields) ?? [] }

    /// Something in a document that this reader does not know.
    struct Unknown: Error {
        let what: String
    }

    private init(_ document: JSONValue) throws {
        guard let schemas = document["schemas"] else { throw Unknown(what: "schemas") }
        fields = try Self.fields(of: "Message", under: [], in: schemas)
    }

    private static func fields(of schema: String, under path: [String], in schemas: JSONValue) throws -> [Field] {
        guard case .object(let properties)? = schemas[schema]?["properties"] else { throw Unknown(what: schema) }
        return try properties.flatMap { property in
            let here = path + [property.name]
            let field = Field(camelPath: here, kind: try kind(of: property.value))
            guard let inner = property.value["$ref"]?.stringValue else { return [field] }
            return [field] + (try fields(of: inner, under: here, in: schemas))
        }
    }

    private static func kind(of property: JSONValue) throws -> Kind {
        if property["$ref"] != nil { return .message }
        if case .array(let names)? = property["enum"] { return .enumeration(names.compactMap(\.stringValue)) }
        switch (property["type"]?.stringValue, property["format"]?.stringValue) {
        case ("string", nil): return .string
        case ("string", "google-duration"): return .duration
        case ("string", "google-datetime"): return .timestamp
        case ("boolean", nil): return .bool
        case ("integer", "int32"): return .int32
        case ("number", "float"): return .float
        case ("array", nil):
            guard let items = property["items"] else { break }
            return .list(try kind(of: items))
        case ("object", nil):
            switch property["additionalProperties"]?["type"]?.stringValue {
            case "string": return .stringMap
            case "any": return .structure
            default: break
            }
        default: break
        }
        throw Unknown(what: String(decoding: property.bytes, as: UTF8.self))
    }
}

extension String {
    /// `android_v2` for `androidV2`.
    fileprivate var snakeCase: String {
        reduce(into: "") { text, character in
            text += character.isUppercase ? "_" + character.lowercased() : String(character)
        }
    }
}
