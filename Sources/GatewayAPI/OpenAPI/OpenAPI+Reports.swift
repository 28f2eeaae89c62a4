import HTTPTypes
import PushModel
import Store

extension OpenAPI {
    /// What became of messages.
    static let reports = Area(
        name: "Reports",
        operations: [
            .project(
                .get, "messages", "listMessages", "Lists messages, the newest first.",
                parameters: Parameter.page(limit: 1000, default: 50) + [filter("state", MessageState.self)],
                answer: .object(
                    ["messages": .list(of: .named("MessageReport")), "nextPageToken": .string],
                    required: ["messages"])),
            .project(
                .get, "messages/{message}", "getMessage", "Reads the report of a message.",
                answer: .named("MessageReport"), errors: [404]),
            .project(
                .get, "messages/{message}/deliveries", "listDeliveries", "Lists a message's deliveries.",
                parameters: Parameter.page(limit: 1000, default: 100) + [filter("outcome", LedgerOutcome.self)],
                answer: deliveries, errors: [404]),
            .project(
                .get, "registrations/{registration}/deliveries", "listDeliveriesToRegistration",
                "Lists what was sent to a registration, the newest first.",
                parameters: Parameter.page(limit: 1000, default: 100), answer: deliveries, errors: [404]),
        ],
        schemas: [
            "MessageReport": .object(
                [
                    "name": .string, "target": .object([:]), "label": .string, "state": .string, "acceptTime": .time,
                    "expireTime": .time, "completeTime": .time, "expectedEndTime": .time,
                    "pace": .object(["rate": .integer, "finishBy": .time]), "audience": .integer,
                    "ledger": .map(of: .integer).saying(
                        "recipients = accepted + rejected + expired + cancelled + inFlight."),
                    "rejectedByReason": .map(of: .integer),
                    "latency": .object(["p50": .duration, "p90": .duration, "p99": .duration]),
                ],
                required: ["name", "target", "state", "acceptTime", "expireTime", "audience", "ledger"]),
            "Delivery": .object(
                [
                    "message": .string, "registration": .string, "app": .string,
                    "outcome": .choice(LedgerOutcome.allCases.map { $0.rawValue.uppercased() } + ["IN_FLIGHT"]),
                    "reason": .string, "attempts": .integer, "unknownAttempts": .integer, "endTime": .time,
                    "latency": .duration, "apnsId": .string,
                ],
                required: ["registration", "app", "outcome", "attempts"]),
        ])

    private static let deliveries = Schema.object(
        ["deliveries": .list(of: .named("Delivery")), "nextPageToken": .string], required: ["deliveries"])

    private static func filter<Value: RawRepresentable & CaseIterable>(
        _ field: String, _: Value.Type
    ) -> Parameter where Value.RawValue == String {
        let values = Value.allCases.map { $0.rawValue.uppercased() }.joined(separator: ", ")
        return .query("filter", .string, "`\(field) = VALUE`, one of \(values).")
    }
}
