import FCMWire
import HTTPTypes
import PushModel
import Store

extension OpenAPI {
    /// Sending, FCM's and our own.
    static let sending = Area(
        name: "Sending",
        operations: [
            .project(
                .post, "messages:send", "sendMessage",
                "Accepts a message for a registration, a topic, a condition, a user or a channel.",
                parameters: [idempotencyKey, prefer], body: .json(.named("SendMessageRequest")),
                answer: .named("SendMessageResponse"), errors: [404, 409, 429]),
            .project(
                .post, "messages:batchSend", "batchSendMessages",
                "Accepts many messages, or one message for many tokens; each item has its own result.",
                parameters: [idempotencyKey], body: .json(.named("BatchSendRequest")),
                answer: .named("BatchSendResponse"), errors: [404, 409, 429]),
            .project(
                .post, "messages/{message}:pause", "pauseMessage", "Holds a message back until it is resumed.",
                body: emptyBody, answer: .named("MessageReport"), errors: [404]),
            .project(
                .post, "messages/{message}:resume", "resumeMessage", "Goes on with a message that was paused.",
                body: emptyBody, answer: .named("MessageReport"), errors: [404]),
            .project(
                .post, "messages/{message}:cancel", "cancelMessage",
                "Ends a message: what was not sent yet never is.",
                body: emptyBody, answer: .named("MessageReport"), errors: [404]),
        ],
        schemas: [
            "SendMessageRequest": .request(
                [
                    "message": .named("Message"), "validateOnly": .boolean.saying("Whether nothing is to be kept."),
                    "estimateAudience": .boolean.saying(
                        "With validateOnly: the audience is the most that it can be, from counts that are kept. Quick."),
                    "target": .named("Target"), "delivery": .named("DeliveryOptions"),
                ],
                required: ["message"]),
            "SendMessageResponse": .object(
                [
                    "name": .string.saying("`projects/<project>/messages/<message>`."),
                    "outcome": .string.saying("What became of it, for a sender that waits."),
                    "registration": .object([:]).saying(
                        "With validateOnly and one registration: what is known of the device."),
                    "audience": .integer.saying("With validateOnly: how many registrations it would go to."),
                    "payloadBytes": .map(of: .integer).saying("With validateOnly: the size of the payload by app."),
                    "expectedDuration": .duration,
                    "refusals": .list(of: .named("Status")).saying("With validateOnly: why it would not be taken now."),
                    "warnings": warnings,
                ],
                required: ["name"]),
            "BatchSendRequest": .request([
                "messages": .list(
                    of: .request(
                        [
                            "message": .named("Message"), "target": .named("Target"),
                            "delivery": .named("DeliveryOptions"),
                        ],
                        required: ["message"]),
                    count: 1...BatchSendRequest.messageLimit),
                "message": .named("Message").saying("For the tokens."),
                "tokens": .list(of: .string, count: 1...NewMessage.listLimit),
                "delivery": .named("DeliveryOptions"), "target": .named("Target"), "validateOnly": .boolean,
            ]).saying("Either messages, or one message and tokens."),
            "BatchSendResponse": .object(
                [
                    "name": .string.saying("Of one message for many tokens."),
                    "responses": .list(
                        of: .object(["name": .string, "error": .named("Status"), "warnings": warnings])
                    ).saying("In the order of the request."),
                    "warnings": warnings,
                ],
                required: ["responses"]),
            "Warning": .object(
                [
                    "reason": .choice(MessageWarning.Reason.allCases.map(\.rawValue)), "field": .string,
                    "description": .string,
                ],
                required: ["reason", "field", "description"]),
            "Target": .request([
                "user": .string.saying("1 to 256 bytes."),
                "channel": .string.saying("The name of a broadcast channel: one publication to all that subscribe."),
                "app": .string.saying("With channel: the bundle id, unless the project has one Apple app."),
                "environment": .choice(PushEnvironment.allCases.map(\.rawValue)).saying(
                    "With channel: the app's own when it is missing."),
            ]).saying("Either user or channel."),
            "DeliveryOptions": .request([
                "rate": .integer.with("minimum", .integer(1)).saying("Pushes a second."),
                "finishBy": .time.saying("When the last push is to be sent; excludes rate."),
                "collapseRepeats": .boolean,
                "wait": .either(.duration, .number).saying(
                    "How long to wait for the push service's answer, up to 30 s; for one registration."),
                "upstream": .boolean.saying(
                    "With validateOnly and one Android registration: Google checks the message, too."),
            ]),
        ])

    private static let warnings = Schema.list(of: .named("Warning")).saying(
        "What the sender most likely did not mean; nothing is refused for it.")

    private static let idempotencyKey = Parameter.header(
        .idempotencyKey,
        .text(matching: "^[!-~]+$").with("minLength", .integer(1))
            .with("maxLength", .integer(IdempotencyHeader.limitBytes)),
        "A repeat with the same key and body has the answer of the first; nothing is sent twice.")

    private static let prefer = Parameter(
        name: "Prefer", place: .header, schema: .string,
        summary: "`wait=5`: answer after the push service has, at most so many seconds later (RFC 7240).")

    private static let emptyBody = Content.json(.request([:]), isRequired: false)
}
