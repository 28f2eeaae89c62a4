import HTTPTypes
import Store
import Webhooks

extension OpenAPI {
    /// Endpoints that get a project's events.
    static let webhooks = Area(
        name: "Webhooks",
        operations: [
            .project(
                .post, "webhooks", "createWebhook", "Makes a webhook; its secrets are shown in this answer alone.",
                body: .json(.named("CreateWebhookRequest")), answer: .named("Webhook"), errors: [429]),
            .project(
                .get, "webhooks", "listWebhooks", "Lists the webhooks of a project.",
                answer: .object(
                    ["webhooks": .list(of: .named("Webhook")), "limit": .integer.saying("How many there may be.")],
                    required: ["webhooks", "limit"])),
            .project(
                .get, "webhooks/{webhook}", "getWebhook", "Reads a webhook and how far it is.",
                answer: .named("Webhook"), errors: [404]),
            .project(
                .patch, "webhooks/{webhook}", "changeWebhook",
                "Changes a webhook, or its state: events that wait go to the new URL.",
                body: .json(.named("ChangeWebhookRequest")), answer: .named("Webhook"), errors: [404]),
            .project(
                .delete, "webhooks/{webhook}", "deleteWebhook", "Deletes a webhook.", answer: .object([:]),
                errors: [404]),
            .project(
                .post, "webhooks/{webhook}:test", "testWebhook",
                "Sends a signed webhook.test and says what came of it.",
                body: .json(.request([:]), isRequired: false), answer: .named("WebhookAttempt"), errors: [404]),
            .project(
                .post, "webhooks/{webhook}:rotateSecret", "rotateWebhookSecret",
                "Makes new secrets; the old ones sign too until the overlap is over.",
                body: .json(
                    .request(["overlap": .duration.saying("A day when it is missing, 7 days at most.")]),
                    isRequired: false),
                answer: .object(["name": .string, "secrets": .list(of: .named("WebhookSecret"))]), errors: [404]),
            .project(
                .post, "webhooks/{webhook}:replay", "replayWebhook", "Sends events once more, with their former ids.",
                body: .json(
                    .request([
                        "from": .string.saying(
                            "A sequence or a time; the oldest event that is kept when it is missing."),
                        "to": .string.saying("A sequence or a time; the last event that was sent when it is missing."),
                        "onlyFailed": .boolean.saying("Only what stands among the dead letters."),
                        "types": .list(of: type), "dryRun": .boolean.saying("Only counts."),
                    ]), isRequired: false),
                answer: .named("WebhookReplay"), errors: [404]),
            .project(
                .get, "webhooks/{webhook}/attempts", "listWebhookAttempts",
                "Lists the requests to a webhook, the newest first.",
                parameters: Parameter.page(limit: 1000, default: 100),
                answer: .object(
                    ["attempts": .list(of: .named("WebhookAttempt")), "nextPageToken": .string], required: ["attempts"]
                ), errors: [404]),
            .project(
                .get, "webhooks/{webhook}/deadLetters", "listWebhookDeadLetters",
                "Lists the events that a webhook did not take.", parameters: Parameter.page(limit: 1000, default: 100),
                answer: .object(
                    ["deadLetters": .list(of: .named("WebhookDeadLetter")), "nextPageToken": .string],
                    required: ["deadLetters"]), errors: [404]),
            .project(
                .post, "webhooks/{webhook}/deadLetters:retry", "retryWebhookDeadLetters",
                "Sends dead letters once more: all, or one.",
                body: .json(.request(["sequence": .integer]), isRequired: false), answer: .named("WebhookReplay"),
                errors: [404]),
        ],
        schemas: [
            "CreateWebhookRequest": .request(
                [
                    "url": url, "description": .string, "types": .list(of: type), "filter": .named("WebhookFilter"),
                    "batching": .named("WebhookBatching"),
                    "startFrom": .string.saying("now (when it is missing), beginning, or an RFC 3339 time."),
                    "asymmetric": .boolean.saying("Whether requests are signed with a key pair (v1a) too."),
                    "secret": .string.saying("whsec_… that the receiver has already, instead of a new one."),
                ], required: ["url", "types"]),
            "ChangeWebhookRequest": .request([
                "url": url, "description": .string, "types": .list(of: type), "filter": .named("WebhookFilter"),
                "batching": .named("WebhookBatching"), "state": .choice(["ENABLED", "DISABLED"]),
            ]),
            "WebhookFilter": .request([
                "apps": .list(of: .string).saying(
                    "Ids, or platform:id (apple, android, web) where the project has an id on several platforms."),
                "labels": .list(of: .string), "topics": .list(of: .string),
                "onlyFailures": .boolean,
                "sampling": .integer.saying("Of what devices report only that of one registration in so many."),
            ]),
            "WebhookBatching": .request([
                "maxEvents": .integer.saying("1 to 500, which it is when it is missing."),
                "maxBytes": .integer.saying("1024 to 262144, which it is when it is missing."),
                "maxDelay": .duration.saying("At most 60 s; 1 s when it is missing."),
            ]),
            "Webhook": .object(
                [
                    "name": .string, "url": .string, "description": .string, "types": .list(of: type),
                    "filter": .object([:]), "batching": .object([:]),
                    "state": .choice(WebhookState.allCases.map(\.rawValue)),
                    "secrets": .list(of: .named("WebhookSecret")),
                    "lastSequence": .integer.saying("Events up to it were taken."), "createTime": .time,
                    "updateTime": .time, "failingSince": .time, "failedAttempts": .integer, "nextAttemptTime": .time,
                    "replay": .object([
                        "nextSequence": .integer, "lastSequence": .integer, "onlyFailed": .boolean,
                    ]),
                ], required: ["name", "url", "types", "state", "secrets", "lastSequence", "createTime", "updateTime"]),
            "WebhookSecret": .object(
                [
                    "kind": .choice(["v1", "v1a"]), "value": .string.saying("whsec_…, when it is made."),
                    "publicKey": .string.saying("whpk_…"), "createTime": .time,
                    "expireTime": .time.saying("Until when a secret signs that was replaced."),
                ], required: ["kind", "createTime"]),
            "WebhookAttempt": .object(
                [
                    "webhookId": .string, "type": .string, "time": .time, "isSuccess": .boolean, "latency": .duration,
                    "events": .integer, "firstSequence": .integer, "lastSequence": .integer, "status": .integer,
                    "failure": .choice(WebhookAnswer.Failure.allCases.map(\.rawValue)), "detail": .string,
                    "answer": .string.saying("The first 1024 bytes."),
                ], required: ["webhookId", "type", "time", "isSuccess", "latency"]),
            "WebhookDeadLetter": .object(
                ["sequence": .integer, "webhookId": .string, "type": .string, "time": .time, "failure": .string],
                required: ["sequence", "webhookId", "type", "time", "failure"]),
            "WebhookReplay": .object(
                [
                    "events": .integer, "isExact": .boolean, "dryRun": .boolean, "firstSequence": .integer,
                    "lastSequence": .integer,
                ], required: ["events", "isExact", "dryRun", "firstSequence", "lastSequence"]),
        ])

    private static let type = Schema.choice(EventView.types)
    private static let url = Schema.string.saying("https, of a host of the Internet; at most 2083 bytes.")
}
