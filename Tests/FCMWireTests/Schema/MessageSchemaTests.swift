import JSON
import PushModel
import Testing

@testable import FCMWire

/// The schema against Google's own description of it.
struct MessageSchemaTests {
    @Test func theSchemaIsTheDocuments() throws {
        let document = Dictionary(
            uniqueKeysWithValues: try DiscoveryDocument.fcm.get().fields.map { ($0.text, $0.kind) })
        let own = Self.kinds(of: .message, at: "message")
        #expect(document.count > 100)
        #expect(Set(document.keys).subtracting(own.keys).sorted() == [], "fields that the schema does not know")
        #expect(Set(own.keys).subtracting(document.keys).sorted() == [], "fields that the document does not know")
        for (path, kind) in document { #expect(own[path] == kind, "\(path)") }
    }

    @Test func aBitIsEnoughForEachField() {
        #expect(Self.largest(.message) <= 64)
    }

    @Test(arguments: DiscoveryDocument.fcmFields)
    func aFieldTakesWhatItsTypeWrites(field: DiscoveryDocument.Field) throws {
        let samples = FieldSamples(field: field)
        for text in samples.right {
            for isCamelCase in [false, true] {
                let message = try samples.message(text, isCamelCase: isCamelCase)
                #expect(MessageSchema.message.accepts(message))
                #expect(throws: Never.self, "\(String(decoding: message.bytes, as: UTF8.self))") {
                    _ = try FCMMessage(source: message)
                    _ = try FCMMessage.target(of: message)
                }
            }
        }
        let absent = try samples.message("null", isCamelCase: false)
        #expect(MessageSchema.message.check(absent, at: "message") == [])
    }

    @Test(arguments: DiscoveryDocument.fcmFields)
    func aFieldRefusesEverythingElseWithItsPath(field: DiscoveryDocument.Field) throws {
        let samples = FieldSamples(field: field)
        for (text, place) in samples.wrong {
            for isCamelCase in [false, true] {
                let message = try samples.message(text, isCamelCase: isCamelCase)
                let whole = String(decoding: message.bytes, as: UTF8.self)
                #expect(!MessageSchema.message.accepts(message), "\(whole)")
                let refusal = try #require(throws: InvalidMessage.self, "\(whole)") {
                    try FCMMessage(source: message)
                }
                #expect(refusal.violations.map(\.field) == [field.text + place], "\(whole)")
                #expect(refusal.isFrontEnd, "\(whole)")
            }
        }
    }

    @Test(arguments: DiscoveryDocument.fcmFields)
    func aFieldInBothSpellingsIsRefused(field: DiscoveryDocument.Field) throws {
        let samples = FieldSamples(field: field)
        let text = try #require(samples.right.first)
        guard let message = try samples.messageWithBoth(text) else { return }
        let refusal = try #require(throws: InvalidMessage.self) { try FCMMessage(source: message) }
        #expect(refusal.violations.map(\.field) == [field.text])
        #expect(refusal.isFrontEnd)
    }

    // MARK: - The schema as the document has it

    private static func kinds(
        of schema: MessageSchema, at path: String
    ) -> [String: DiscoveryDocument.Kind] {
        schema.declarations.reduce(into: [:]) { kinds, field in
            let place = "\(path).\(field.name)"
            kinds[place] = kind(of: field.type)
            guard case .message(let inner) = field.type else { return }
            kinds.merge(Self.kinds(of: inner, at: place)) { first, _ in first }
        }
    }

    private static func kind(of type: MessageSchema.FieldType) -> DiscoveryDocument.Kind {
        switch type {
        case .string: .string
        case .bool: .bool
        case .int32: .int32
        case .float: .float
        case .duration: .duration
        case .timestamp: .timestamp
        case .enumeration(let schema): .enumeration(schema.values)
        case .list(let element): .list(kind(of: element))
        case .stringMap: .stringMap
        case .message: .message
        case .structure: .structure
        }
    }

    private static func largest(_ schema: MessageSchema) -> Int {
        schema.declarations.reduce(schema.declarations.count) { most, field in
            if case .message(let inner) = field.type { max(most, largest(inner)) } else { most }
        }
    }
}
