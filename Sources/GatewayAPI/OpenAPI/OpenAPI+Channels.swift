import HTTPTypes
import PushModel

extension OpenAPI {
    /// Broadcast channels of Apple's apps.
    static let channels = Area(
        name: "Channels",
        operations: [
            .project(
                .post, "channels", "createChannel",
                "Makes a broadcast channel at Apple, or answers with the one that has the name.",
                body: .json(.named("CreateChannelRequest")), answer: .named("Channel"), errors: [404, 409, 429]),
            .project(
                .get, "channels", "listChannels",
                "Lists the channels of an app in an environment, and holds Apple's own list against them.",
                parameters: Parameter.page(limit: 1000, default: 100) + home,
                answer: .object(
                    [
                        "channels": .list(of: .named("Channel")), "nextPageToken": .string,
                        "count": .integer.saying("How many there are here."),
                        "limit": .integer.saying("How many there may be."), "apple": .named("ChannelComparison"),
                    ], required: ["channels", "count", "limit"])),
            .project(
                .get, "channels/{channel}", "getChannel", "Reads a channel, and asks Apple whether it is there.",
                parameters: home, answer: .named("Channel"), errors: [404]),
            .project(
                .delete, "channels/{channel}", "deleteChannel", "Deletes a channel at Apple and here, for good.",
                parameters: home, answer: .object([:]), errors: [404]),
        ],
        schemas: [
            "CreateChannelRequest": .request(
                [
                    "app": .string.saying("The bundle id; not needed when the project has one Apple app."),
                    "environment": environment.saying("The app's own when it is missing."),
                    "name": .string.saying("\(ChannelName.expectation); unique in app and environment."),
                    "storagePolicy": .choice(StoragePolicy.allCases.map(\.rawValue)).saying(
                        "What Apple stores of its publications; MOST_RECENT when it is missing."),
                    "channelId": .string.saying("Takes over a channel that Apple has already, instead of making one."),
                ], required: ["name"]),
            "Channel": .object(
                [
                    "name": .string, "app": .string, "environment": environment,
                    "storagePolicy": .choice(StoragePolicy.allCases.map(\.rawValue)),
                    "state": .choice(ChannelView.states).saying(
                        "CREATING: whether Apple made it is not known (yet). LOST: Apple has it no more."),
                    "channelId": .string.saying("Apple's id: what the app subscribes to."),
                    "registration": .string.saying("What reports and exports call it."), "createTime": .time,
                    "lostTime": .time, "apple": .object(["error": .string]).saying("Why Apple could not be asked."),
                ], required: ["name", "app", "environment", "storagePolicy", "state", "createTime"]),
            "ChannelComparison": .object([
                "time": .time, "count": .integer.saying("How many channels Apple has."),
                "lost": .list(of: .string).saying("Names whose channels became lost by this."),
                "unknownCount": .integer.saying("How many of Apple's channels have no name here."),
                "unknown": .list(of: .string).saying("The ids of these, a hundred at most."),
                "error": .string.saying("Why Apple could not be asked."),
            ]),
        ])

    private static let environment = Schema.choice(PushEnvironment.allCases.map(\.rawValue))

    private static let home: [Parameter] = [
        .query("app", .string, "The bundle id; not needed when the project has one Apple app."),
        .query("environment", environment, "The app's own when it is missing."),
    ]
}
