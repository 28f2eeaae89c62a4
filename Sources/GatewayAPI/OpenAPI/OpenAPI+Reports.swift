import HTTPTypes
import PushModel
import Store
import Webhooks

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
            .project(
                .get, "events", "listEvents", "Lists what happened, in order, and waits for more.",
                parameters: Parameter.page(limit: 1000, default: 100) + [
                    .query(
                        "after", .string,
                        "Events after this sequence; `now`: after the newest. Without: from startTime, or the oldest."),
                    .query("startTime", .time, "Events of this time or later."),
                    .query("onlyFailures", .boolean, "Only what was not accepted, dead registrations and routes."),
                    .query("types", .string, "Only these types, separated by commas."),
                    .query("wait", .duration, "While there is none: wait for one so long, at most 30 s."),
                ],
                answer: .object(
                    [
                        "events": .list(of: .named("Event")),
                        "lastSequence": .integer.saying("Where to go on: the next after."),
                        "nextPageToken": .string.saying("As lastSequence, while there is more already."),
                    ], required: ["events", "lastSequence"])),
            .project(
                .get, "registrations/{registration}:why", "explainRegistration",
                "Says why a registration gets pushes or not, or got a message or not.",
                parameters: [
                    .query("message", .string, "A message: its id or its whole name. Without one: in general.")
                ], answer: .named("RegistrationVerdict"), errors: [404]),
        ],
        schemas: [
            "MessageReport": .object(
                [
                    "name": .string, "target": .object([:]), "label": .string,
                    "credential": .named("CredentialUse"), "state": .string, "acceptTime": .time,
                    "expireTime": .time, "completeTime": .time, "expectedEndTime": .time,
                    "pace": .object(["rate": .integer, "finishBy": .time]), "audience": .integer,
                    "passedOver": .map(of: .integer).saying(
                        "Registrations that the fan-out passed by: ended, quarantined, stale. Not among the recipients."
                    ),
                    "ledger": .map(of: .integer).saying(
                        "recipients = accepted + rejected + expired + cancelled + inFlight."),
                    "rejectedByReason": .map(of: .integer),
                    "receipts": .map(of: .integer).saying("How many devices reported each kind."),
                    "platforms": .object(
                        ["apple": platformFigures, "android": platformFigures, "web": platformFigures]
                    ).saying(
                        "The figures by platform; one without a registration that the message came by is left out. Together they are the message's."
                    ),
                    "blocks": .map(of: .string).saying("What becomes of the message's blocks; of one report alone."),
                    "payloadRemoved": .boolean.saying(
                        "true once retention took what the message said; `blocks` goes with it."),
                    "links": .list(of: .named("MessageLink")).saying(
                        "The links of the message that are tracked; of one report alone."),
                    "channel": .named("Channel").saying(
                        "The broadcast channel that it was published to; of one report alone."),
                    "latency": .object(["p50": .duration, "p90": .duration, "p99": .duration]),
                ],
                required: ["name", "target", "state", "acceptTime", "expireTime", "audience", "ledger", "platforms"]),
            "MessageLink": .object(
                [
                    "shortLink": .string, "link": .string.saying("Where it leads now."), "clicks": .integer,
                    "redirects": .integer, "appInstalls": .integer, "appFirstOpens": .integer, "appReopens": .integer,
                ],
                required: ["shortLink", "clicks", "redirects", "appInstalls", "appFirstOpens", "appReopens"]),
            "Event": .object(
                [
                    "sequence": .integer.saying("Ascends by one from event to event of all projects."),
                    "type": .choice(EventView.types), "timestamp": .time,
                    "data": .object([
                        "message": .string, "registration": .string, "app": .string,
                        "platform": .choice(Platform.allCases.map(\.rawValue)), "environment": .string,
                        "reason": .string, "cause": .string, "replacement": .string,
                    ]).saying("What it is about: the members depend on the type, and there are others."),
                ],
                required: ["sequence", "type", "timestamp", "data"]),
            "CredentialUse": .object(
                [
                    "id": .string.saying("A key's id or a service account's email."), "name": .string,
                    "role": .choice(Role.allCases.map(\.rawValue)), "address": .string,
                ],
                required: ["id"]
            ).saying("Who asked for it."),
            "RegistrationVerdict": .object(
                [
                    "name": .string, "app": .string, "platform": .string, "user": .string, "state": .string,
                    "refreshTime": .time,
                    "stale": .boolean, "quarantineTime": .time, "quarantineReason": .string, "endTime": .time,
                    "endCause": .string,
                    "verdict": .choice(RegistrationVerdict.Code.allCases.map(\.rawValue)), "text": .string,
                    "deliveries": .list(of: .named("Delivery")),
                ],
                required: ["name", "app", "state", "verdict", "text", "deliveries"]),
            "Delivery": .object(
                [
                    "message": .string, "registration": .string, "app": .string, "platform": .string,
                    "outcome": .choice(LedgerOutcome.allCases.map { $0.rawValue.uppercased() } + ["IN_FLIGHT"]),
                    "reason": .string, "attempts": .integer, "unknownAttempts": .integer, "endTime": .time,
                    "latency": .duration, "apnsId": .string, "upstreamId": .string,
                    "grantedTtl": .duration.saying("For how long the push service said that it keeps the push."),
                    "receipts": .map(of: .time),
                ],
                required: ["registration", "app", "outcome", "attempts"]),
        ])

    private static let platformFigures = Schema.map(of: .integer).saying(
        "audience = recipients + passedOver, of whom the fan-out came by; recipients = accepted + rejected + expired + cancelled + inFlight."
    )

    /// Who changed what.
    static let audit = Area(
        name: "Audit",
        operations: [
            .project(
                .get, "audit", "listAuditEntries",
                "Lists changes of keys, accounts, users, quarantines and messages, the newest first.",
                parameters: Parameter.page(limit: 1000, default: 100) + [
                    .query("filter", .string, "`action=key.create` or `subject=\"…\"`."),
                    .query("startTime", .time, "Only entries of this time or later."),
                ],
                answer: .object(
                    ["entries": .list(of: .named("AuditEntry")), "nextPageToken": .string], required: ["entries"]))
        ],
        schemas: [
            "AuditEntry": .object(
                [
                    "time": .time, "project": .string, "action": .choice(AuditAction.allCases.map(\.rawValue)),
                    "subject": .string.saying(
                        "A key's id, an account's email, a FID, a bundle id, a project or a message's id."),
                    "details": .map(of: .string), "credential": .named("CredentialUse"),
                ],
                required: ["time", "project", "action", "subject", "credential"])
        ])

    /// FCM's reporting API.
    static let deliveryData = Area(
        name: "Delivery data",
        operations: [
            Operation(
                method: .get, path: "/v1beta1/projects/{project}/androidApps/{app}/deliveryData",
                id: "listDeliveryData", summary: "Lists what became of an app's messages, by day and label.",
                parameters: Parameter.page(limit: 10_000, default: 1000),
                answers: [
                    200: .json(
                        .object(["androidDeliveryData": .list(of: .named("DeliveryData")), "nextPageToken": .string]))
                ], errors: [404])
        ],
        schemas: [
            "DeliveryData": .object(
                [
                    "appId": .string, "analyticsLabel": .string,
                    "date": .object(["year": .integer, "month": .integer, "day": .integer]),
                    "data": .object([
                        "countMessagesAccepted": .string, "countNotificationsAccepted": .string,
                        "messageOutcomePercents": .map(of: .number), "ledger": .map(of: .integer),
                    ]),
                ],
                required: ["appId", "date", "data"])
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
