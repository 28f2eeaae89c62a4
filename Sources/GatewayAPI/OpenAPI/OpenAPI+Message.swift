import FCMWire
import JSON
import PushModel

extension OpenAPI {
    /// FCM's Message resource, made from the schema that requests are decoded by.
    static let message = Area(
        name: "Message", operations: [], schemas: Schemas(MessageComponents(of: MessageSchema.message).schemas))
}

/// The components of the document that a message type and the types of its fields become, each once.
private struct MessageComponents {
    private(set) var schemas: [(name: String, schema: OpenAPI.Schema)] = []

    /// Describes `type` and every type that it reaches.
    init(of type: MessageSchema) {
        add(type)
    }

    private mutating func add(_ type: MessageSchema) {
        let name = Self.name(of: type)
        guard !schemas.contains(where: { $0.name == name }) else { return }
        let place = schemas.count
        schemas.append((name, .any))
        var fields: [(name: String, schema: OpenAPI.Schema)] = []
        for (field, type) in type.declarations {
            let schema = self.schema(of: type)
            fields.append((ObjectReader.camelCase(field), Self.rules["\(name).\(field)"]?(schema) ?? schema))
        }
        let schema = OpenAPI.Schema.request(fields)
        schemas[place].schema = Self.rules[name]?(schema) ?? schema
    }

    /// A type's name in the document: without its package and the type that it is nested in. The two types of light
    /// settings are alike, and one here.
    private static func name(of type: MessageSchema) -> String {
        type.name.split(separator: ".").last.map(String.init) ?? type.name
    }

    private mutating func schema(of type: MessageSchema.FieldType) -> OpenAPI.Schema {
        switch type {
        case .string: return .string
        case .bool: return .boolean
        case .int32: return .integer
        case .float: return .number
        case .duration: return .duration
        case .timestamp: return .time
        case .enumeration(let values): return .choice(values.values)
        case .list(let element): return .list(of: schema(of: element))
        case .stringMap: return .map(of: .string)
        case .structure: return .map(of: .any)
        case .message(let type):
            add(type)
            return .named(Self.name(of: type))
        }
    }

    /// What the schema does not say: forms of texts, ranges, and sentences for readers.
    private static let rules: [String: @Sendable (OpenAPI.Schema) -> OpenAPI.Schema] = [
        "Message": {
            $0.saying("Names exactly one of fid, token, topic and condition, unless a target stands beside it.")
        },
        "Message.name": { $0.saying("Set by the gateway.") },
        "Message.topic": { _ in .text(matching: "^(/topics/)?[a-zA-Z0-9-_.~%]{1,900}$") },
        "FcmOptions.analytics_label": label, "AndroidFcmOptions.analytics_label": label,
        "AndroidConfigV2": { $0.saying("Excludes android.") },
        "AndroidNotification.color": color, "AndroidNotificationV2.color": color,
        "Color.red": part, "Color.green": part, "Color.blue": part, "Color.alpha": part,
    ]

    @Sendable private static func label(_: OpenAPI.Schema) -> OpenAPI.Schema {
        .text(matching: "^[a-zA-Z0-9-_.~%]{0,50}$")
    }

    @Sendable private static func color(_: OpenAPI.Schema) -> OpenAPI.Schema { .text(matching: "^#[0-9a-fA-F]{6}$") }

    @Sendable private static func part(_ schema: OpenAPI.Schema) -> OpenAPI.Schema {
        schema.with("minimum", .integer(0)).with("maximum", .integer(1))
    }
}
