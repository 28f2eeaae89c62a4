import HTTPTypes

extension OpenAPI {
    /// FCM's APIs before v1.
    static let legacy = Area(
        name: "Legacy",
        operations: [
            Operation(
                method: .post, path: "/fcm/send", id: "legacySend",
                summary: "Sends to a token, a device group, up to 1000 tokens, a topic or a condition.",
                body: .json(.named("LegacyMessage")), answers: [200: .json(.named("LegacyAnswer"))],
                errorBody: Content(types: [("text/plain", .string)])),
            Operation(
                method: .post, path: "/fcm/notification", id: "changeDeviceGroup",
                summary: "Makes a device group, or changes who is in it.", parameters: [projectID],
                body: .json(
                    .request(
                        [
                            "operation": .choice(["create", "add", "remove"]), "notification_key_name": .string,
                            "notification_key": .string, "registration_ids": .list(of: .string),
                        ],
                        required: ["operation", "registration_ids"])),
                answers: [200: .json(.named("NotificationKey"))], errorBody: .json(.named("LegacyError"))),
            Operation(
                method: .get, path: "/fcm/notification", id: "findDeviceGroup",
                summary: "Looks a device group's key up by its name.",
                parameters: [
                    projectID, .query("notification_key_name", .string, "The group's name.", isRequired: true),
                ],
                answers: [200: .json(.named("NotificationKey"))], errorBody: .json(.named("LegacyError"))),
        ],
        schemas: [
            "LegacyMessage": .request([
                "to": .string, "registration_ids": .list(of: .string), "condition": .string, "collapse_key": .string,
                "priority": .string, "content_available": .boolean, "mutable_content": .boolean,
                "time_to_live": .integer, "restricted_package_name": .string, "dry_run": .boolean,
                "data": .map(of: .any), "notification": .map(of: .any), "delay_while_idle": .any,
                "notification_key": .any,
            ]).saying("Exactly one of to, registration_ids and condition."),
            "LegacyAnswer": .object([
                "multicast_id": .integer, "success": .integer, "failure": .integer, "canonical_ids": .integer,
                "results": .list(of: .object(["message_id": .string, "error": .string])),
                "message_id": .integer.saying("Of a topic or a condition."), "error": .string,
                "failed_registration_ids": .list(of: .string).saying("Of a device group: FIDs; tokens for an admin."),
            ]),
            "NotificationKey": .object(["notification_key": .string], required: ["notification_key"]),
            "LegacyError": .object(["error": .string], required: ["error"]),
        ])

    private static let projectID = Parameter(
        name: "project_id", place: .header, schema: .string, summary: "The sender ID of the project.", isRequired: true)
}
