import HTTPTypes

extension OpenAPI {
    /// The topics of a registration.
    static let topics = Area(
        name: "Topics",
        operations: [
            .project(
                .post, base, "createTopicSubscription", "Subscribes a registration to a topic.",
                parameters: [.query("topicName", topicName, "The topic.", isRequired: true)],
                body: subscription, answer: .named("TopicSubscription"), errors: [404, 409, 429]),
            .project(
                .get, base, "listTopicSubscriptions", "Lists the topics of a registration.",
                parameters: Parameter.page(limit: 2000, default: 1000),
                answer: .object([
                    "topicSubscriptions": .list(of: .named("TopicSubscription")), "nextPageToken": .string,
                ]), errors: [404]),
            .project(
                .get, "topics", "listTopics", "Lists the topics of the project with their sizes.",
                parameters: Parameter.page(limit: 1000, default: 100) + [
                    .query("prefix", .string, "How the names begin.")
                ],
                answer: .object(["topics": .list(of: .named("TopicSummary")), "nextPageToken": .string])),
            .project(
                .get, "topics/{topic}", "getTopic", "Reads a topic with its size.", answer: .named("TopicSummary"),
                errors: [404]),
            .project(
                .get, "topics/{topic}/registrations", "listSubscribers", "Lists the registrations of a topic.",
                parameters: Parameter.page(limit: 1000, default: 100),
                answer: .object(["registrations": .list(of: .named("Registration")), "nextPageToken": .string]),
                errors: [404]),
            .project(
                .get, one, "getTopicSubscription", "Reads a subscription.", answer: .named("TopicSubscription"),
                errors: [404]),
            .project(
                .patch, one, "patchTopicSubscription", "Reads a subscription, or makes it.",
                parameters: [allowMissing], body: subscription, answer: .named("TopicSubscription"),
                errors: [404, 429]),
            .project(
                .delete, one, "deleteTopicSubscription", "Ends a subscription.", parameters: [allowMissing],
                answer: .object([:]), errors: [404]),
            .project(
                .post, one + ":subscribe", "subscribeToTopic", "Subscribes a registration, also once more.",
                answer: .named("TopicSubscription"), errors: [404, 429]),
            .project(
                .post, one + ":unsubscribe", "unsubscribeFromTopic", "Ends a subscription, also one that is not there.",
                answer: .object([:]), errors: [404]),
        ],
        schemas: [
            "TopicSubscription": .object(
                ["name": .string, "topicName": .string, "createTime": .time],
                required: ["name", "topicName", "createTime"]),
            "TopicSummary": .object(
                ["name": .string, "topic": .string, "registrationCount": .integer],
                required: ["name", "topic", "registrationCount"]),
        ])

    private static let base = "registrations/{registration}/topicSubscriptions"
    private static let one = base + "/{topic}"

    /// The name of a topic.
    static let topicName = Schema.text(matching: "^[a-zA-Z0-9-_.~%]{1,900}$")

    // Its fields are set by the gateway.
    private static let subscription = Content.json(
        .request(["name": .string, "topicName": .string, "createTime": .string]), isRequired: false)

    private static let allowMissing = Parameter.query(
        "allowMissing", .boolean, "Whether it may be that there is none.")
}
