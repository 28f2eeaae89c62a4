import HTTPTypes

extension OpenAPI {
    /// The Instance ID server API.
    static let instanceID = Area(
        name: "Instance ID",
        operations: [
            batch(
                "batchAdd", "batchAddToTopic", "Subscribes up to 1000 registrations to a topic.",
                .named("InstanceIDTopicBatch"), .named("InstanceIDResults")),
            batch(
                "batchRemove", "batchRemoveFromTopic", "Ends the subscriptions of up to 1000 registrations.",
                .named("InstanceIDTopicBatch"), .named("InstanceIDResults")),
            batch(
                "batchImport", "batchImportTokens", "Makes registrations from up to 100 APNs device tokens.",
                .request(
                    [
                        "application": .string.saying("The bundle id."), "sandbox": .boolean,
                        "apns_tokens": .list(of: .string, count: 1...100),
                    ],
                    required: ["application", "apns_tokens"]),
                .object(
                    [
                        "results": .list(
                            of: .object(
                                ["apns_token": .string, "status": .string, "registration_token": .string],
                                required: ["apns_token", "status"]))
                    ],
                    required: ["results"])),
            one(
                .post, "v1/{registration}/rel/topics/{topic}", "relateTopic", "Subscribes a registration.",
                errors: [429]),
            one(.delete, "v1/{registration}/rel/topics/{topic}", "unrelateTopic", "Ends a subscription."),
            one(
                .get, "info/{registration}", "getInstanceInfo", "Says what is known of a registration.",
                parameters: [.query("details", .boolean, "Whether with its topics.")],
                answer: .object(
                    [
                        "application": .string, "authorizedEntity": .string, "applicationVersion": .string,
                        "platform": .string, "rel": .object([:]),
                    ],
                    required: ["application", "authorizedEntity", "platform"])),
        ],
        schemas: [
            "InstanceIDTopicBatch": .request(
                [
                    "to": .text(matching: "^(/topics/)?[a-zA-Z0-9-_.~%]{1,900}$"),
                    "registration_tokens": .list(of: .string, count: 1...1000),
                ],
                required: ["to", "registration_tokens"]),
            "InstanceIDError": .object(["error": .string], required: ["error"]),
            "InstanceIDResults": .object(
                ["results": .list(of: .object(["error": .string])).saying("In order; `{}` means done.")],
                required: ["results"]),
        ])

    private static func one(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, parameters: [Parameter] = [],
        answer: Schema = .object([:]), errors: Set<Int> = []
    ) -> Operation {
        Operation(
            method: method, path: "/iid/" + path, id: id, summary: summary, parameters: parameters,
            body: method == .post ? .json(.map(of: .any), isRequired: false) : nil, answers: [200: .json(answer)],
            errors: errors.union([404]), errorBody: .json(.named("InstanceIDError")))
    }

    private static func batch(
        _ name: String, _ id: String, _ summary: String, _ body: Schema, _ answer: Schema
    ) -> Operation {
        Operation(
            method: .post, path: "/iid/v1:" + name, id: id, summary: summary, body: .json(body),
            answers: [200: .json(answer)], errorBody: .json(.named("InstanceIDError")))
    }
}
