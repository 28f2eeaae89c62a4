import JSON
import PushModel

extension OpenAPI {
    /// A JSON Schema (draft 2020-12, as OpenAPI 3.1 has it).
    struct Schema: Hashable, Sendable {
        /// The members of the schema object.
        private(set) var members: [JSONValue.Member]

        private init(_ members: [JSONValue.Member]) {
            self.members = members
        }

        private init(type: String) {
            members = [.init("type", .string(type))]
        }

        /// The schema as it stands in the document.
        var json: JSONValue { .object(members) }

        /// Any value.
        static let any = Schema([])
        /// A text.
        static let string = Schema(type: "string")
        /// `true` or `false`.
        static let boolean = Schema(type: "boolean")
        /// A whole number.
        static let integer = Schema(type: "integer")
        /// A number.
        static let number = Schema(type: "number")
        /// An RFC 3339 time.
        static let time = string.with("format", .string("date-time"))
        /// Seconds as Google's JSON has durations.
        static let duration = text(matching: #"^-?[0-9]+(\.[0-9]{1,9})?s$"#)

        /// A text of a form.
        static func text(matching pattern: String) -> Schema { string.with("pattern", .string(pattern)) }

        /// One of some texts.
        static func choice(_ values: [String]) -> Schema { string.with("enum", .array(values.map { .string($0) })) }

        /// A list.
        static func list(of element: Schema, count: ClosedRange<Int>? = nil) -> Schema {
            let list = Schema(type: "array").with("items", element.json)
            guard let count else { return list }
            return list.with("minItems", .integer(count.lowerBound)).with("maxItems", .integer(count.upperBound))
        }

        /// An object with names of the caller's own.
        static func map(of value: Schema) -> Schema {
            Schema(type: "object").with("additionalProperties", value.json)
        }

        /// An object that may have more members than these: an answer.
        static func object(_ properties: KeyValuePairs<String, Schema>, required: [String] = []) -> Schema {
            var schema = Schema(type: "object").with(
                "properties", .object(properties.map { .init($0.key, $0.value.json) }))
            if !required.isEmpty { schema = schema.with("required", .array(required.map { .string($0) })) }
            return schema
        }

        /// An object that may have more members than these, which are listed elsewhere.
        static func object(fields: [(name: String, schema: Schema)]) -> Schema {
            Schema(type: "object").with("properties", .object(fields.map { .init($0.name, $0.schema.json) }))
        }

        /// An object whose other members are refused: a request. Names may also be written in snake_case.
        static func request(_ properties: KeyValuePairs<String, Schema>, required: [String] = []) -> Schema {
            object(properties, required: required).with("additionalProperties", .bool(false))
        }

        /// A request with fields that are listed elsewhere.
        static func request(_ fields: [(name: String, schema: Schema)]) -> Schema {
            Schema(type: "object")
                .with("properties", .object(fields.map { .init($0.name, $0.schema.json) }))
                .with("additionalProperties", .bool(false))
        }

        /// A schema of the document's components.
        static func named(_ name: String) -> Schema {
            Schema([.init("$ref", .string("#/components/schemas/\(name)"))])
        }

        /// One or the other.
        static func either(_ schemas: Schema...) -> Schema {
            Schema([.init("anyOf", .array(schemas.map(\.json)))])
        }

        /// The schema with a sentence for readers.
        func saying(_ text: String) -> Schema { with("description", .string(text)) }

        /// The schema with one more keyword.
        func with(_ keyword: String, _ value: JSONValue) -> Schema {
            Schema(members + [.init(keyword, value)])
        }
    }
}
