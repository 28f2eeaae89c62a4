import HTTPTypes
import Store

extension OpenAPI {
    /// What app installs do for themselves.
    static let devices = Area(
        name: "Devices",
        operations: [
            .project(
                .post, "installations", "createInstallation", "Gives an app install its id and tokens.",
                body: .json(
                    .request(
                        ["fid": .string, "authVersion": .choice(["FIS_v2"]), "appId": .string, "sdkVersion": .string],
                        required: ["appId"])),
                answer: .object(
                    [
                        "name": .string, "fid": .string, "refreshToken": .string,
                        "authToken": .named("InstallationToken"),
                    ],
                    required: ["name", "fid", "refreshToken", "authToken"])),
            .project(
                .post, "installations/{installation}/authTokens:generate", "generateAuthToken",
                "Gives an install a new auth token for its refresh token (`Authorization: FIS_v2 …`).",
                body: .json(
                    .request(["installation": .request(["sdkVersion": .string, "appId": .string])]), isRequired: false),
                answer: .named("InstallationToken"), errors: [404]),
            .project(
                .delete, "installations/{installation}", "deleteInstallation",
                "Ends an install (`Authorization: FIS_v2 …`).", answer: .object([:]), errors: [404]),
            .project(
                .post, "receipts", "createReceipts", "Takes what a device reports of messages.",
                body: .json(.either(.named("Receipts"), .named("Receipt"), .named("ClientEvents"))),
                answer: .object(
                    [
                        "results": .list(of: .object(["error": .string])).saying("In order; `{}` means done."),
                        "nextRequestWaitMillis": .string,
                    ],
                    required: ["results"]), errors: [404]),
            Operation(
                method: .post, path: "/v1/web/iid", id: "registerBrowser",
                summary: "Registers a browser's push subscription.",
                body: .json(
                    .request(
                        ["endpoint": .string, "keys": .request(["auth": .string, "p256dh": .string])],
                        required: ["endpoint", "keys"])),
                answers: [200: .json(.object(["token": .string], required: ["token"]))],
                errorBody: .json(.named("InstanceIDError"))),
        ],
        schemas: [
            "InstallationToken": .object(
                ["token": .string, "expiresIn": .duration], required: ["token", "expiresIn"]),
            "Receipts": .request(
                [
                    "registration": registrationToken,
                    "receipts": .list(of: .request(receipt, required: ["message", "kind"]), count: 1...1000),
                ],
                required: ["receipts"]),
            "Receipt": .request(
                ["registration": registrationToken, "message": messageName, "kind": kind, "time": .time],
                required: ["message", "kind"]),
            "ClientEvents": .object(
                [
                    "registration": registrationToken,
                    "log_event": .list(
                        of: .object([
                            "event_time_ms": .either(.integer, .string), "source_extension_json_proto3": .string,
                        ]), count: 1...1000),
                ],
                required: ["log_event"]
            ).saying("FCM's log of client events."),
        ])

    /// `X-Goog-Firebase-Installations-Auth`.
    static let installationAuth = Parameter(
        name: "X-Goog-Firebase-Installations-Auth", place: .header, schema: .string,
        summary: "The auth token of the installation.")

    private static let registrationToken = Schema.string.saying("The registration's token.")
    private static let messageName = Schema.string.saying("The name or the id of a message.")
    private static let kind = Schema.choice(ReceiptKind.allCases.map { $0.rawValue.uppercased() })
    private static let receipt: KeyValuePairs<String, Schema> = ["message": messageName, "kind": kind, "time": .time]
}
