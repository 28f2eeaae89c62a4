import JSON
import Traces
import Tracing

/// Spans as OTLP/HTTP has them in JSON: an `ExportTraceServiceRequest` by proto3's rules, but for ids, which are hexadecimal
/// (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding").
struct SpanDocument {
    /// `service.name` and what else is known of the process.
    let resource: [(name: String, value: String)]

    /// The request with these spans.
    func json(of spans: [FinishedSpan]) -> JSONValue {
        let scope = JSONValue.object([
            .init(
                "scope", .object([.init("name", .string("herald")), .init("version", .string(HeraldVersion.current))])),
            .init("spans", .array(spans.map(Self.json))),
        ])
        let attributes = resource.map { Self.attribute($0.name, .string($0.value)) }
        return .object([
            .init(
                "resourceSpans",
                .array([
                    .object([
                        .init("resource", .object([.init("attributes", .array(attributes))])),
                        .init("scopeSpans", .array([scope])),
                    ])
                ]))
        ])
    }

    /// How many spans a collector that answered 200 refused (`partialSuccess.rejectedSpans`).
    static func rejected(in answer: [UInt8]) -> Int {
        // An answer that is no JSON says nothing.
        guard let value = try? JSONValue(parsing: answer) else { return 0 }
        switch value["partialSuccess"]?["rejectedSpans"] {
        case .string(let text), .number(let text): return max(0, Int(text) ?? 0)
        default: return 0
        }
    }

    private static func json(_ span: FinishedSpan) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("traceId", .string(span.context.traceID.text)), .init("spanId", .string(span.context.spanID.text)),
        ]
        if !span.context.state.isEmpty { members.append(.init("traceState", .string(span.context.state))) }
        if let parent = span.parent { members.append(.init("parentSpanId", .string(parent.text))) }
        members += [
            .init("name", .string(span.name)), .init("kind", .number(String(code(of: span.kind)))),
            .init("startTimeUnixNano", .string(String(span.start))),
            .init("endTimeUnixNano", .string(String(span.end))),
            .init("attributes", attributes(span.attributes)),
            .init("events", .array(span.events.map(event))), .init("links", .array(span.links.map(link))),
            .init("status", status(span.status)),
        ]
        return .object(members)
    }

    private static func link(_ link: FinishedSpan.Link) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("traceId", .string(link.context.traceID.text)), .init("spanId", .string(link.context.spanID.text)),
        ]
        if !link.context.state.isEmpty { members.append(.init("traceState", .string(link.context.state))) }
        return .object(members + [.init("attributes", attributes(link.attributes))])
    }

    private static func event(_ event: SpanEvent) -> JSONValue {
        .object([
            .init("timeUnixNano", .string(String(event.nanosecondsSinceEpoch))), .init("name", .string(event.name)),
            .init("attributes", attributes(event.attributes)),
        ])
    }

    private static func status(_ status: SpanStatus?) -> JSONValue {
        guard let status else { return .object([]) }
        var members: [JSONValue.Member] = [.init("code", .number(status.code == .error ? "2" : "1"))]
        if let message = status.message { members.append(.init("message", .string(message))) }
        return .object(members)
    }

    private static func code(of kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func attributes(_ attributes: SpanAttributes) -> JSONValue {
        var members: [(name: String, value: JSONValue)] = []
        attributes.forEach { name, value in members.append((name, attribute(name, value))) }
        return .array(members.sorted { $0.name < $1.name }.map(\.value))
    }

    private static func attribute(_ name: String, _ value: SpanAttribute) -> JSONValue {
        .object([.init("key", .string(name)), .init("value", anyValue(value))])
    }

    /// An `AnyValue`: 64-bit integers are strings.
    private static func anyValue(_ value: SpanAttribute) -> JSONValue {
        func one(_ name: String, _ value: JSONValue) -> JSONValue { .object([.init(name, value)]) }
        func list(_ values: [SpanAttribute]) -> JSONValue {
            one("arrayValue", .object([.init("values", .array(values.map(anyValue)))]))
        }
        switch value {
        case .string(let text): return one("stringValue", .string(text))
        case .bool(let isTrue): return one("boolValue", .bool(isTrue))
        case .int32(let number): return one("intValue", .string(String(number)))
        case .int64(let number): return one("intValue", .string(String(number)))
        case .double(let number) where number.isFinite: return one("doubleValue", .number("\(number)"))
        case .double(let number):
            return one("doubleValue", .string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity"))
        case .stringArray(let texts): return list(texts.map { .string($0) })
        case .int32Array(let numbers): return list(numbers.map { .int32($0) })
        case .int64Array(let numbers): return list(numbers.map { .int64($0) })
        case .doubleArray(let numbers): return list(numbers.map { .double($0) })
        case .boolArray(let values): return list(values.map { .bool($0) })
        case .stringConvertible(let value): return one("stringValue", .string("\(value)"))
        case .stringConvertibleArray(let values): return list(values.map { .string("\($0)") })
        default: return one("stringValue", .string(""))
        }
    }
}
